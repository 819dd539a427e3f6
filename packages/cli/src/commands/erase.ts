/** `erase`: removes everything of a session or a tenant. */
import type { ErasureReport } from '@tidemark/core';
import { type CommandContext, defineCommand } from '../command.ts';
import { one } from '../options.ts';

type Erasing = Pick<CommandContext<unknown, unknown>, 'progress' | 'patient'>;

/** Tells a progress bar how much was removed so far. */
function told({ progress, patient }: Erasing) {
  const bar = progress('erasing');
  return {
    ...patient,
    onProgress: ({ removed }: ErasureReport) => bar.to(Object.values(removed).reduce((sum, it) => sum + it, 0)),
  };
}

const tenant = defineCommand({
  name: 'erase tenant',
  summary: 'Remove everything of a tenant',
  details:
    'Stop whoever writes for the tenant first: what comes later stays. Interrupted, the same command finishes the job.',
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
    await confirm({ action: `remove everything of the tenant ${args.tenant}`, answer: args.tenant });
    await out.report({ ...(await admin.eraseTenant(args.tenant, told(context))) }, args.tenant);
  },
});

const session = defineCommand({
  name: 'erase session',
  summary: 'Remove everything of a session, its traces and artifacts',
  effect: 'destructive',
  args: { session: one('id of the session') },
  examples: [{ line: 'erase session session-1 --yes', shows: '"sessionId":"session-1"' }],
  async run(context) {
    const { store, out, args, dryRun, confirm } = context;
    const { admin } = await store();
    if (dryRun) return out.report({ dryRun: true, would: 'erase', sessionId: args.session }, args.session);
    await confirm({ action: `remove everything of the session ${args.session}`, answer: args.session });
    await out.report({ ...(await admin.eraseSession(args.session, told(context))) }, args.session);
  },
});

export const eraseCommands = [tenant, session];
