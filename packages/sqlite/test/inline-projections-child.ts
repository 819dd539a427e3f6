/**
 * A process that appends with a projection, from several callers to a few runs, until it is killed. Prints each answer.
 */
import { sqliteStore } from '@tidemark/sqlite';
import { counts, INLINE_RUNS } from './inline-projection.ts';

const CALLERS = 4;

const store = await sqliteStore(process.argv[2]!);
const write = async () => {
  for (let at = 0; ; at++) {
    const runId = INLINE_RUNS[at % INLINE_RUNS.length]!;
    const { runSeq } = await store.runs.handle(runId, { projections: [counts] }).append('Counted');
    process.stdout.write(`${runId} ${runSeq}\n`);
  }
};
await Promise.all(Array.from({ length: CALLERS }, write));
