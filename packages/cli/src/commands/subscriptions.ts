/** `subscriptions`: lists feed subscriptions and their dead letters. */
import { TidemarkError, textOf } from '@tidemark/core';
import type { DeadLetter } from '@tidemark/runtime';
import { at } from '../cells.ts';
import { defineCommand } from '../command.ts';
import { many, one } from '../options.ts';
import type { View } from '../output.ts';

const PREFIX = 'tidemark.subscriptions.';
const NAME = one('name of the subscription');

interface Known {
  name: string;
  shards: string;
  deadLetters: number;
}

const SUBSCRIPTIONS: View<Known> = {
  columns: [
    { title: 'NAME', of: ({ name }) => name },
    { title: 'SHARDS', of: ({ shards }) => shards },
    { title: 'DEAD', of: ({ deadLetters }) => deadLetters },
  ],
  id: ({ name }) => name,
};

const list = defineCommand({
  name: 'subscriptions list',
  summary: 'List subscriptions with their number of dead letters',
  effect: 'ro',
  examples: [{ line: 'subscriptions list', shows: '"name":"billing"' }],
  async run({ store, out }) {
    const { kv } = await store();
    const known = new Map<string, Known>();
    for await (const { key, record } of kv.scan(PREFIX)) {
      const [name = '', part] = key.slice(PREFIX.length).split('.');
      const entry = known.get(name) ?? { name, shards: '', deadLetters: 0 };
      known.set(name, entry);
      if (part === 'settings') entry.shards = textOf(record.fields.shards) ?? '';
      if (part === 'dead') entry.deadLetters++;
    }
    await out.list(known.values(), SUBSCRIPTIONS, 'There are no subscriptions.');
  },
});

const letterName = ({ tenantId, runId, runSeq }: DeadLetter) => `${tenantId}/${runId}/${runSeq}`;

const DEAD: View<DeadLetter> = {
  columns: [
    { title: 'EVENT', of: letterName },
    { title: 'TYPE', of: ({ eventType }) => eventType },
    { title: 'TRIES', of: ({ attempts }) => attempts },
    { title: 'WHEN', of: (letter) => at(letter.at) },
    { title: 'ERROR', of: ({ error }) => error.split('\n')[0] },
  ],
  id: letterName,
};

const dead = defineCommand({
  name: 'subscriptions dead',
  summary: 'List the dead letters of a subscription',
  effect: 'ro',
  args: { name: NAME },
  examples: [{ line: 'subscriptions dead billing', shows: 'no such customer' }],
  async run({ store, out, args }) {
    const { listDeadLetters } = await import('@tidemark/runtime');
    await out.list(listDeadLetters(await store(), args.name), DEAD, `Subscription ${args.name} has no dead letters.`);
  },
});

const discard = defineCommand({
  name: 'subscriptions discard',
  summary: 'Discard dead letters',
  effect: 'destructive',
  args: { name: NAME, events: many('events as `subscriptions dead -o id` prints them: tenant/run/seq') },
  examples: [{ line: 'subscriptions discard billing default/order-7/3 --yes', shows: '"discarded":true' }],
  async run({ store, out, args, dryRun, confirm }) {
    const { discardDeadLetter, listDeadLetters } = await import('@tidemark/runtime');
    const opened = await store();
    const letters: DeadLetter[] = [];
    for await (const letter of listDeadLetters(opened, args.name))
      if (args.events.includes(letterName(letter))) letters.push(letter);
    const missing = args.events.filter((it) => !letters.some((letter) => letterName(letter) === it));
    if (missing.length > 0)
      throw new TidemarkError('NOT_FOUND', `Subscription ${args.name} has no dead letter ${missing.join(', ')}`);
    if (!dryRun) await confirm({ action: `discard ${letters.length} dead letters of ${args.name}`, answer: args.name });
    for (const letter of letters) {
      if (!dryRun) await discardDeadLetter(opened, args.name, letter);
      await out.report(
        dryRun
          ? { dryRun: true, would: 'discard', event: letterName(letter) }
          : { event: letterName(letter), discarded: true },
        letterName(letter),
      );
    }
  },
});

export const subscriptionCommands = [list, dead, discard];
