/** `keys`: the API keys that a server with --auth lets in. They are kept in the store; a server does not hand them out. */
import { Readable } from 'node:stream';
import { invalidArgument, TidemarkError } from '@tidemark/core';
import type { ApiKeyInfo } from '@tidemark/server';
import { SCOPES } from '@tidemark/server/scopes';
import { at, state } from '../cells.ts';
import { type CommandContext, defineCommand } from '../command.ts';
import { choicesOf, duration, one, text, toggle } from '../options.ts';
import type { View } from '../output.ts';
import { writeWholeFile } from '../whole-file.ts';

const BY = { by: text('name', 'who does it, for the audit log; your user name when absent') };

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

async function keysOf({ store }: Pick<CommandContext<unknown, unknown>, 'store'>) {
  const { ApiKeys } = await import('@tidemark/server');
  return new ApiKeys(await store({ isPlain: true, isWhole: true }));
}

const whoOf = ({ io, options }: Pick<CommandContext<unknown, { by: string | undefined }>, 'io' | 'options'>) => ({
  by: options.by ?? io.env.USER ?? 'cli',
});

const create = defineCommand({
  name: 'keys create',
  summary: 'Make an API key',
  details:
    'Prints the key, which cannot be shown again. With --tenant it is for that tenant; an operator must be said.',
  effect: 'rw',
  args: { name: one('what it is for') },
  options: {
    scope: choicesOf(SCOPES, 'scope', `what it may do: ${SCOPES.join(', ')}`),
    operator: toggle('for all tenants'),
    session: text('id', 'only this session of the tenant'),
    expires: duration('duration', 'refused after so long'),
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
    const { key, info } = await (await keysOf(context)).create(wanted, whoOf(context));
    await out.report({ key, ...info }, info.id);
  },
});

const list = defineCommand({
  name: 'keys list',
  summary: 'List API keys, without their secrets',
  effect: 'ro',
  examples: [{ line: 'keys list', shows: 'There are no keys.' }],
  async run(context) {
    await context.out.list(await (await keysOf(context)).list(), KEYS, 'There are no keys.');
  },
});

const revoke = defineCommand({
  name: 'keys revoke',
  summary: 'Refuse a key from now on',
  details: 'Every server of the store refuses it within half a second.',
  effect: 'destructive',
  args: { key: one('id of the key') },
  options: BY,
  examples: [{ line: 'keys revoke 0123456789abcdef --yes', shows: 'NOT_FOUND', exit: 3 }],
  async run(context) {
    const { out, args, dryRun, confirm } = context;
    if (dryRun) return out.report({ dryRun: true, would: 'revoke', id: args.key }, args.key);
    await confirm({ action: `refuse the key ${args.key} from now on`, answer: args.key });
    const revoked = await (await keysOf(context)).revoke(args.key, whoOf(context));
    if (!revoked) throw new TidemarkError('NOT_FOUND', `There is no key ${JSON.stringify(args.key)}`);
    await out.report({ id: args.key, revoked }, args.key);
  },
});

const mint = defineCommand({
  name: 'keys mint',
  summary: 'Print a new admin key for TIDEMARK_ADMIN_KEY',
  details: 'It is stored nowhere: a server that is started with it lets it in for as long as it runs.',
  effect: 'ro',
  options: { to: text('file', 'write it to a new file that only you can read, for TIDEMARK_ADMIN_KEY_FILE') },
  examples: [
    { line: 'keys mint', shows: 'tmk_' },
    { line: 'keys mint --to admin.key', shows: '"file":"admin.key"' },
  ],
  async run({ out, options: { to } }) {
    const { mintBootstrapKey } = await import('@tidemark/server');
    const text = `${mintBootstrapKey()}\n`;
    if (to === undefined) return out.raw(text);
    await writeWholeFile(to, Readable.from([text]));
    await out.report({ file: to }, to);
  },
});

export const keyCommands = [create, list, revoke, mint];
