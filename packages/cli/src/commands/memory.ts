/** `memory`: lists, shows and deletes agent memory. */
import { randomUUID } from 'node:crypto';
import { type MemoryRecord, TidemarkError } from '@tidemark/core';
import { at } from '../cells.ts';
import { defineCommand } from '../command.ts';
import { maybe, one } from '../options.ts';
import type { View } from '../output.ts';
import { limitOption, upTo } from '../pages.ts';

const STATES: View<Omit<MemoryRecord, 'state'>> = {
  columns: [
    { title: 'KEY', of: ({ key }) => key },
    { title: 'VERSION', of: ({ version }) => version },
    { title: 'UPDATED', of: ({ updatedAt }) => at(updatedAt) },
  ],
  id: ({ key }) => key,
};

const list = defineCommand({
  name: 'memory list',
  summary: 'List memory states',
  effect: 'ro',
  args: { prefix: maybe('prefix of the keys') },
  options: { limit: limitOption },
  examples: [{ line: 'memory list acme:', shows: 'acme:ada:session-1' }],
  async run({ store, out, args, options }) {
    const { agents } = await store();
    const prefix = args.prefix === undefined ? {} : { prefix: args.prefix };
    await out.list(
      upTo(options.limit, (page) => agents.listMemory({ ...page, ...prefix }), out),
      STATES,
      'No memory states found.',
    );
  },
});

const show = defineCommand({
  name: 'memory show',
  summary: 'Show a memory state',
  effect: 'ro',
  args: { key: one('key of the state') },
  examples: [{ line: 'memory show acme:ada:session-1', shows: '"version":1' }],
  async run({ store, out, args }) {
    const { agents } = await store();
    const found = await agents.getMemoryRecord(args.key);
    if (!found) throw new TidemarkError('NOT_FOUND', `There is no memory state ${JSON.stringify(args.key)}`);
    await out.show(found, {
      ...STATES,
      columns: [...STATES.columns, { title: 'STATE', of: (record) => ({ json: (record as MemoryRecord).state }) }],
    });
  },
});

const remove = defineCommand({
  name: 'memory delete',
  summary: 'Delete a memory state',
  effect: 'destructive',
  args: { key: one('key of the state') },
  examples: [{ line: 'memory delete acme:ada:session-1 --yes', shows: '"deleted":true' }],
  async run({ store, out, args, dryRun, confirm }) {
    const { agents } = await store();
    if (dryRun) {
      const exists = (await agents.getMemoryRecord(args.key)) !== null;
      return out.report({ dryRun: true, would: 'delete', key: args.key, exists }, args.key);
    }
    await confirm({ action: `delete the memory state ${args.key}`, answer: args.key });
    const deleted = await agents.deleteMemoryState(args.key, { requestId: randomUUID() });
    await out.report({ key: args.key, deleted }, args.key);
  },
});

export const memoryCommands = [list, show, remove];
