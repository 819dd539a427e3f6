/**
 * A Redis store of the first format is upgraded while a process that opened it before still writes records without
 * checksums. Both write the same fields. Every read must be right: a value that one of them wrote must never be
 * reported as damaged.
 */
import { isTidemarkError, type KvStore } from '@tidemark/core';
import { open } from 'tidemark';
import { makeFormatOne } from '../../packages/redis/test/kit-parts.ts';
import type { Random } from '../random.ts';
import type { Race } from './race.ts';

const KEYS = 4;
const FIELDS = ['a', 'b', 'c'];
const WRITES = 30;

/** Makes one random change to a record, among those that take different paths through the engine. */
async function change(kv: KvStore, key: string, value: string, random: Random): Promise<void> {
  const field = random.pick(FIELDS);
  const changes = [
    () => kv.setField(key, field, value),
    () => kv.swap(key, { set: { [field]: value }, ttl: '1h' }),
    () => kv.setFields(key, { [field]: null, d: value }),
    () => kv.put(key, { [field]: value }),
    () => kv.swap(key, { set: { [field]: value }, requestId: value }),
    () => kv.delete(key),
  ];
  await random.pick(changes)();
}

export const upgradeBesideOldWriter: Race = {
  summary: "' upgrade to checksums while a process still writes without them",
  engines: ['redis'],
  rounds: { short: 6, long: 300 },
  async open({ url }, options) {
    const server = new URL(url);
    const prefix = server.searchParams.get('prefix')!;
    server.search = '';
    await makeFormatOne(server.href, prefix);
    const before = await open(url, options);
    return [before, await open(`${url}&upgrade=true`, options)];
  },
  async round({ a, b, id, random }) {
    const problems: string[] = [];
    let checks = 0;
    const keys = Array.from({ length: KEYS }, (_, n) => `${id}.${n}`);
    const look = async (kv: KvStore, key: string) => {
      checks++;
      const reads = [() => kv.get(key), () => kv.getField(key, random.pick(FIELDS))];
      await random
        .pick(reads)()
        .catch((error) => {
          if (!isTidemarkError(error, 'CORRUPT_VALUE')) throw error;
          problems.push(`${key}: ${error.message}`);
        });
    };
    const actor = async ({ kv }: { kv: KvStore }, name: string) => {
      for (let n = 0; n < WRITES; n++) {
        await change(kv, random.pick(keys), `${id}-${name}-${n}`, random);
        await look(kv, random.pick(keys));
      }
    };
    await Promise.all([actor(a, 'old'), actor(b, 'new')]);
    for (const key of keys) await look(b.kv, key);
    return { checks, problems };
  },
};
