/** Stores that several processes open by a name. */
import type { Store } from '@tidemark/core';
import { postgresStore } from '@tidemark/postgres';
import { redisStore } from '@tidemark/redis';
import { sqliteStore } from '@tidemark/sqlite';
import { offeredUrl } from '../servers/index.ts';

/** Opens the store `sqlite:<file>`, `postgres:<schema>` or `redis:<prefix>`. */
export function openTarget(target: string): Promise<Store> {
  const at = target.indexOf(':');
  const name = target.slice(at + 1);
  switch (target.slice(0, at)) {
    case 'sqlite':
      return sqliteStore(name);
    case 'postgres':
      return postgresStore({ url: offeredUrl('postgres')!, schema: name });
    case 'redis':
      return redisStore({ url: offeredUrl('redis')!, prefix: name });
    default:
      throw new Error(`There is no engine for ${target}`);
  }
}
