// Plain JavaScript: a counter that several processes can increment concurrently.
import { numberOf, open } from 'tidemark';

const store = await open(process.argv[2]);
for (;;) {
  const record = await store.kv.get('counters.visits');
  const visits = numberOf(record?.fields.count) ?? 0;
  const { swapped } = await store.kv.swap('counters.visits', {
    expectedRevision: record?.revision ?? 0,
    set: { count: visits + 1 },
  });
  if (swapped) {
    console.log(`visit number ${visits + 1}`);
    break;
  }
}
await store.close();
