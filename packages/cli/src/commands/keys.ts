/**
 * `keys`: manages the API keys that a server with --auth accepts. The keys are in the store, and no server route
 * returns them.
 */
import { invalidArgument, TidemarkError } from '@tidemark/core';
import type { ApiKeyInfo } from '@tidemark/server';
import { SCOPES } from '@tidemark/server/scopes';
import { at, state } from '../cells.ts';
import { type CommandContext, defineCommand } from '../command.ts';
import { choicesOf, duration, one, text, toggle } from '../options.ts';
import type { View } from '../output.ts';
import { writeWholeFile } from '../whole-file.ts';

const BY = { by: text('name', 'who does this, for the audit log (default: your user name)') };

const KEYS: View<ApiKeyInfo> = {
  columns: [
    { title: 'ID', of: ({ id }) => id },
    { title: 'NAME', of: ({ name }) => name },
    { title: 'TENANT', of: ({ tenantId }) => tenantId ?? '(operator)' },
    { title: 'SCOPES', of: ({ scopes }) => scopes.join(' ') },
    { title: 'SESSION', of: ({ sessionId }) => sessionId },
    { title: 'CREATED', of: ({ createdAt }) => at(createdAt) },
    { title: 'EXPIRES', of: ({ expiresAt }) => at(expiresAt) },
    { title: 'STATE', of: ({ revokedAt }) => state(revokedAt === undefined ? 'ok' : 'revoked') },
  ],
  id: ({ id }) => id,
};

async function openKeys({ store }: Pick<CommandContext<unknown, unknown>, 'store'>) {
  const { ApiKeys } = await import('@tidemark/server');
  return new ApiKeys(await store({ withoutRetries: true, allTenants: true }));
}

const actor = ({ io, options }: Pick<CommandContext<unknown, { by: string | undefined }>, 'io' | 'options'>) => ({
  by: options.by ?? io.env.USER ?? 'cli',
});

const create = defineCommand({
  name: 'keys create',
  summary: 'Create an API key',
  details:
    'Prints the key, which cannot be shown again. Requires --tenant for a key of one tenant, or --operator for all tenants.',
  effect: 'rw',
  args: { name: one('name of the key') },
  options: {
    scope: choicesOf(SCOPES, 'scope', `allowed scope: ${SCOPES.join(', ')}`),
    operator: toggle('valid for all tenants'),
    session: text('id', 'only this session of the tenant'),
    expires: duration('duration', 'how long it is valid'),
    ...BY,
  },
  examples: [
    { line: 'keys create worker --tenant acme --scope read,append --expires 90d', shows: '"key":"tmk_' },
    { line: 'keys create cache --tenant acme --scope kv:read,kv:write', shows: '"scopes":["kv:read","kv:write"]' },
    { line: 'keys create backup --operator --scope read --dry-run', shows: '"would":"create"' },
    { line: 'keys create nobody --scope read', shows: '--operator', exit: 2 },
  ],
  async run(context) {
    const { out, args, options, settings, dryRun } = context;
    const tenantId = settings.tenant ?? null;
    if ((tenantId === null) !== options.operator)
      throw invalidArgument('--tenant', 'given, or --operator, and not both');
    const wanted = {
      ...{ name: args.name, scopes: options.scope, tenantId },
      ...(options.session === undefined ? {} : { sessionId: options.session }),
      ...(options.expires === undefined ? {} : { expiresAt: new Date(Date.now() + options.expires) }),
    };
    if (dryRun) return out.report({ dryRun: true, would: 'create', ...wanted });
    const { key, info } = await (await openKeys(context)).create(wanted, actor(context));
    await out.report({ key, ...info }, info.id);
  },
});

const list = defineCommand({
  name: 'keys list',
  summary: 'List API keys, without their secrets',
  effect: 'ro',
  examples: [{ line: 'keys list', shows: 'There are no keys.' }],
  async run(context) {
    await context.out.list(await (await openKeys(context)).list(), KEYS, 'There are no keys.');
  },
});

const revoke = defineCommand({
  name: 'keys revoke',
  summary: 'Revoke an API key',
  details: 'Every server of the store rejects it within half a second.',
  effect: 'destructive',
  args: { key: one('id of the key') },
  options: BY,
  examples: [{ line: 'keys revoke 0123456789abcdef --yes', shows: 'NOT_FOUND', exit: 3 }],
  async run(context) {
    const { out, args, dryRun, confirm } = context;
    if (dryRun) return out.report({ dryRun: true, would: 'revoke', id: args.key }, args.key);
    await confirm({ action: `revoke the key ${args.key}`, answer: args.key });
    const revoked = await (await openKeys(context)).revoke(args.key, actor(context));
    if (!revoked) throw new TidemarkError('NOT_FOUND', `There is no key ${JSON.stringify(args.key)}`);
    await out.report({ id: args.key, revoked }, args.key);
  },
});

const mint = defineCommand({
  name: 'keys mint',
  summary: 'Print a new admin key for TIDEMARK_ADMIN_KEY',
  details: 'The key is not stored. A server started with it accepts it for as long as the server runs.',
  effect: 'ro',
  options: { to: text('file', 'write the key to a new file that only you can read, for TIDEMARK_ADMIN_KEY_FILE') },
  examples: [
    { line: 'keys mint', shows: 'tmk_' },
    { line: 'keys mint --to admin.key', shows: '"file":"admin.key"' },
  ],
  async run({ out, options: { to } }) {
    const { mintBootstrapKey } = await import('@tidemark/server');
    const text = `${mintBootstrapKey()}\n`;
    if (to === undefined) return out.raw(text);
    await writeWholeFile(to, [text]);
    await out.report({ file: to }, to);
  },
});

export const keyCommands = [create, list, revoke, mint];
