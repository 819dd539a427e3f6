/** `erase`: removes all data of a session or a tenant. */
import type { ErasureReport } from '@tidemark/core';
import { type CommandContext, defineCommand } from '../command.ts';
import { one } from '../options.ts';

type Erasing = Pick<CommandContext<unknown, unknown>, 'progress' | 'longCall'>;

/** Call options that report progress on a bar. */
function eraseOptions({ progress, longCall }: Erasing) {
  const bar = progress('erasing');
  return {
    ...longCall,
    onProgress: ({ removed }: ErasureReport) => bar.to(Object.values(removed).reduce((sum, it) => sum + it, 0)),
  };
}

const tenant = defineCommand({
  name: 'erase tenant',
  summary: 'Remove all data of a tenant',
  details:
    'Stop all writers of the tenant first: data written later is kept. If interrupted, run the same command again to finish.',
  effect: 'destructive',
  args: { tenant: one('id of the tenant') },
  examples: [
    { line: 'erase tenant acme --yes', shows: '"tenantId":"acme"' },
    { line: 'erase tenant acme --dry-run', shows: '"would":"erase"' },
  ],
  async run(context) {
    const { store, out, args, dryRun, confirm } = context;
    const { admin } = await store();
    if (dryRun) return out.report({ dryRun: true, would: 'erase', tenantId: args.tenant }, args.tenant);
    await confirm({ action: `remove all data of the tenant ${args.tenant}`, answer: args.tenant });
    await out.report({ ...(await admin.eraseTenant(args.tenant, eraseOptions(context))) }, args.tenant);
  },
});

const session = defineCommand({
  name: 'erase session',
  summary: 'Remove all data of a session, its traces and artifacts',
  effect: 'destructive',
  args: { session: one('id of the session') },
  examples: [{ line: 'erase session session-1 --yes', shows: '"sessionId":"session-1"' }],
  async run(context) {
    const { store, out, args, dryRun, confirm } = context;
    const { admin } = await store();
    if (dryRun) return out.report({ dryRun: true, would: 'erase', sessionId: args.session }, args.session);
    await confirm({ action: `remove all data of the session ${args.session}`, answer: args.session });
    await out.report({ ...(await admin.eraseSession(args.session, eraseOptions(context))) }, args.session);
  },
});

export const eraseCommands = [tenant, session];
