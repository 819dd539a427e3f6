/** `bindings`: the remote workers of a router's session or of a trace. */
import { type RemoteBinding, TidemarkError } from '@tidemark/core';
import { inShort } from '../cells.ts';
import { defineCommand } from '../command.ts';
import { maybe, one, text } from '../options.ts';
import type { View } from '../output.ts';

const BINDINGS: View<RemoteBinding> = {
  columns: [
    { title: 'TRACE', of: ({ traceId }) => traceId },
    { title: 'CONTEXT', of: ({ contextId }) => contextId },
    { title: 'TASK', of: ({ taskId }) => taskId },
    { title: 'WORKER', of: ({ agentUrl }) => agentUrl },
    { title: 'SKILL', of: ({ remoteSkill }) => remoteSkill },
    { title: 'TERMINAL', of: ({ isTerminal }) => (isTerminal === true ? 'yes' : 'no') },
    { title: 'METADATA', of: ({ metadata }) => (metadata === undefined ? null : inShort(metadata)) },
  ],
  id: ({ traceId, taskId }) => `${traceId}/${taskId}`,
};

const list = defineCommand({
  name: 'bindings list',
  summary: "List the remote workers of a router's session, most recently updated first, or of a trace",
  effect: 'ro',
  args: { session: maybe('session of the router') },
  options: { trace: text('id', 'those of this trace instead') },
  examples: [
    { line: 'bindings list session-1', shows: '"remoteSkill":"search"' },
    { line: 'bindings list --trace trace-7', shows: '"taskId":"task-1"' },
  ],
  async run({ store, out, args, options }) {
    if ((args.session === undefined) === (options.trace === undefined))
      throw new TidemarkError('INVALID_ARGUMENT', 'Name either a session or --trace', { field: 'session' });
    const { agents } = await store();
    const found =
      options.trace === undefined
        ? await agents.listBindings(args.session!)
        : await agents.listRemoteBindings(options.trace);
    await out.list(found, BINDINGS, 'No bindings found.');
  },
});

const end = defineCommand({
  name: 'bindings end',
  summary: 'Mark a binding as terminal, so that its router starts a new conversation',
  effect: 'rw',
  args: { trace: one('id of the trace'), task: one('id of the task') },
  options: { contextId: text('id', 'context of the binding, if it has one') },
  examples: [{ line: 'bindings end trace-7 task-1 --context-id session-1', shows: '"terminal":true' }],
  async run({ store, out, args, options, dryRun }) {
    const key = { traceId: args.trace, contextId: options.contextId ?? null, taskId: args.task };
    const { agents } = await store();
    if (dryRun) return out.report({ dryRun: true, would: 'end', ...key });
    const found = await agents.markBindingTerminal(key);
    if (!found) throw new TidemarkError('NOT_FOUND', `Trace ${JSON.stringify(key.traceId)} has no such binding`);
    await out.report({ ...key, terminal: true });
  },
});

export const bindingCommands = [list, end];
