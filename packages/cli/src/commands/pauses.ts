/**
 * `pauses`: lists, shows, consumes and answers pauses. Tokens are secrets: they are read from stdin or the environment
 * and never from the command line, and only their hashes are printed. Showing a pause never consumes it.
 */
import { randomUUID } from 'node:crypto';
import { invalidArgument, type PauseInfo, type Store, TidemarkError } from '@tidemark/core';
import { at, state } from '../cells.ts';
import { defineCommand } from '../command.ts';
import type { Io } from '../io.ts';
import { readLine } from '../io.ts';
import { duration, one, text } from '../options.ts';
import type { View } from '../output.ts';
import { limitOption, upTo } from '../pages.ts';

const PAUSES: View<PauseInfo> = {
  columns: [
    { title: 'PAUSE', of: ({ pauseId }) => pauseId },
    { title: 'STATE', of: (pause) => state(pause.state) },
    { title: 'EXPIRES', of: ({ expiresAt }) => at(expiresAt) },
    { title: 'SESSION', of: ({ sessionId }) => sessionId },
    { title: 'TASK', of: ({ taskId }) => taskId },
    { title: 'REASON', of: ({ reason }) => reason },
  ],
  id: ({ pauseId }) => pauseId,
};

/** All details of one pause. */
const PAUSE: View<PauseInfo> = {
  ...PAUSES,
  columns: [
    ...PAUSES.columns,
    { title: 'SAVED', of: ({ createdAt }) => at(createdAt) },
    { title: 'LEASE ENDS', of: ({ leaseUntil }) => at(leaseUntil) },
  ],
};

const list = defineCommand({
  name: 'pauses list',
  summary: 'List pauses that have not expired',
  effect: 'ro',
  options: {
    session: text('id', 'only pauses of this session'),
    expiring: duration('duration', 'only pauses that expire within this time'),
    limit: limitOption,
  },
  examples: [
    { line: 'pauses list', shows: 'approve the refund' },
    { line: 'pauses list --expiring 2h -o table', shows: 'approve the refund' },
  ],
  async run({ store, out, options }) {
    const { agents } = await store();
    const session = options.session === undefined ? {} : { sessionId: options.session };
    const until = options.expiring === undefined ? undefined : new Date(Date.now() + options.expiring).toISOString();
    const expires = until === undefined ? undefined : ({ expiresAt }: PauseInfo) => expiresAt <= until;
    const pauses = upTo(options.limit, (page) => agents.listPauses({ ...page, ...session }), out, expires);
    await out.list(pauses, PAUSES, 'No pauses found.');
  },
});

const TOKEN_DETAILS = 'The token is read from TIDEMARK_PAUSE_TOKEN or the first line of stdin.';

async function readToken(io: Io): Promise<string> {
  if (io.stdin.isTerminal && !io.env.TIDEMARK_PAUSE_TOKEN) await io.stderr.write('Token: ');
  const token = io.env.TIDEMARK_PAUSE_TOKEN || (await readLine(io)).trim();
  if (token === '') throw invalidArgument('token', 'given in TIDEMARK_PAUSE_TOKEN or on stdin');
  return token;
}

const noPause = () => new TidemarkError('NOT_FOUND', 'There is no such pause: unknown, expired or consumed');

const peek = defineCommand({
  name: 'pauses peek',
  summary: 'Show the pause of a token without consuming it',
  details: TOKEN_DETAILS,
  effect: 'ro',
  examples: [{ line: 'pauses peek', shows: '"state":"waiting"', input: 'token-1\n' }],
  async run({ store, out, io }) {
    const token = await readToken(io);
    const { agents } = await store();
    const pause = await agents.peekPause(token);
    if (!pause) throw noPause();
    await out.show(pause, PAUSES);
  },
});

const consume = defineCommand({
  name: 'pauses consume',
  summary: 'Consume a pause and print its state',
  details: TOKEN_DETAILS,
  effect: 'destructive',
  examples: [
    { line: 'pauses consume --yes', shows: '"reason":"approve the refund"', input: 'token-1\n' },
    { line: 'pauses consume --yes', shows: 'NOT_FOUND', input: 'token-of-nobody\n', exit: 3 },
  ],
  async run({ store, out, io, dryRun, confirm }) {
    const token = await readToken(io);
    const { agents } = await store();
    const pause = await agents.peekPause(token);
    if (pause?.state !== 'waiting') throw noPause();
    if (dryRun) return out.report({ dryRun: true, would: 'consume', pauseId: pause.pauseId }, pause.pauseId);
    const short = pause.pauseId.slice(0, 8);
    await confirm({ action: `consume the pause ${short}…, so that nobody else can resume it`, answer: short });
    const payload = await agents.loadPlannerState(token, { requestId: randomUUID() });
    await out.raw(`${JSON.stringify(payload)}\n`);
  },
});

/** Returns the pause whose id starts with the text; throws unless exactly one pause matches. */
async function findPause({ agents }: Store, pauseId: string): Promise<PauseInfo> {
  const found: PauseInfo[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await agents.listPauses(cursor === undefined ? {} : { cursor });
    found.push(...page.items.filter((it) => it.pauseId.startsWith(pauseId)));
    if (page.next === undefined) break;
    cursor = page.next;
  }
  if (found.length > 1) throw invalidArgument('pause', `longer: ${found.length} pauses start with it`, pauseId);
  if (!found[0]) throw noPause();
  return found[0];
}

const show = defineCommand({
  name: 'pauses show',
  summary: 'Show a pause without consuming it',
  details:
    'Shows when it was saved, when it expires and who it belongs to. Its payload is shown only to the holder of the token.',
  effect: 'ro',
  args: { pause: one('id of the pause, or its first characters') },
  examples: [
    { line: 'pauses show 3f08', shows: '"reason":"approve the refund"' },
    { line: 'pauses show ffffffffffff', shows: 'NOT_FOUND', exit: 3 },
  ],
  async run({ store, out, args }) {
    await out.show(await findPause(await store(), args.pause), PAUSE);
  },
});

/**
 * Writes a steering event. The store has only the hash of the token, so the holder of the token has to resume the task.
 */
function decide(verb: 'approve' | 'reject', eventType: 'APPROVE' | 'REJECT') {
  return defineCommand({
    name: `pauses ${verb}`,
    summary: `${verb === 'approve' ? 'Approve' : 'Reject'} a pause`,
    details:
      'Writes a steering event for the session and task of the pause. The process that holds the token then resumes the task.',
    effect: 'rw',
    args: { pause: one('id of the pause, or its first characters') },
    options: { comment: text('text', 'reason for the decision') },
    examples: [{ line: `pauses ${verb} 3f08 --comment 'seen by ada'`, shows: `"eventType":"${eventType}"` }],
    async run({ store, out, args, options, dryRun }) {
      const opened = await store();
      const { sessionId, taskId, pauseId } = await findPause(opened, args.pause);
      if (sessionId === undefined || taskId === undefined)
        throw new TidemarkError('CONFLICT', 'The pause has no session and task, so it cannot be answered here');
      const event = {
        ...{ sessionId, taskId, eventId: randomUUID(), eventType, source: 'cli' },
        createdAt: new Date().toISOString(),
        payload: { pauseId, ...(options.comment === undefined ? {} : { comment: options.comment }) },
      };
      if (dryRun) return out.report({ dryRun: true, would: verb, ...event }, pauseId);
      await opened.agents.saveSteering(event);
      await out.report({ ...event }, pauseId);
    },
  });
}

export const pauseCommands = [list, show, peek, consume, decide('approve', 'APPROVE'), decide('reject', 'REJECT')];
