/** A first program: writes a run to a SQLite file, then reads its events and its state. */
import { open } from 'tidemark';

const store = await open(process.argv[2]); // no argument: a file in ./.tidemark/state.db
const run = store.runs.handle('order-42');
await run.append('RunStarted', { by: 'ada' });
await run.append('StepStarted', {}, { stepId: 'charge' });
await run.append('StepCompleted', { cents: 1299 }, { stepId: 'charge' });
for await (const event of run.events()) console.log(event.runSeq, event.eventType, event.payload);
console.log((await run.snapshot()).status);
await store.close();
