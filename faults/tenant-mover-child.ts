/**
 * A mover that is killed or frozen: moves a tenant between two PostgreSQL servers, and prints each step.
 * `--main URL --north URL --tenant NAME --to SERVER --max-pause-ms N`.
 */
import { parseArgs } from 'node:util';
import { placementOf, postgresStore } from '@tidemark/postgres';

const { values } = parseArgs({
  options: {
    main: { type: 'string' },
    north: { type: 'string' },
    tenant: { type: 'string' },
    to: { type: 'string' },
    'max-pause-ms': { type: 'string' },
  },
});
const store = await postgresStore({ url: values.main!, servers: { north: values.north! }, placement: () => 'main' });
await placementOf(store)!.move(values.tenant!, values.to!, {
  maxPauseMs: Number(values['max-pause-ms']),
  keepOldMs: 0,
  onProgress: ({ step, copied }) => console.log(step, copied),
});
await store.close();
