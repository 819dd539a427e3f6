/**
 * A process that archives all runs of a file, or restores all of an archive, and kills itself at a named point. Without
 * `--point` it finishes and exits. `--what archive|restore --path --archive --point --hit run…`.
 */
import { parseArgs } from 'node:util';
import { createArchiver } from '@tidemark/runtime';
import { sqliteStore } from '@tidemark/sqlite';
import { openArchive } from './archive-location.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    what: { type: 'string' },
    path: { type: 'string' },
    archive: { type: 'string' },
    point: { type: 'string' },
    hit: { type: 'string', default: '1' },
  },
});

let hits = 0;
function probe(point: string): void {
  if (point === values.point && ++hits === Number(values.hit)) process.kill(process.pid, 'SIGKILL');
}

const store = await sqliteStore(values.path!);
const target = openArchive(values.archive!);
const archiver = createArchiver({ store, target, probe });
if (values.what === 'archive') {
  const { spared } = await archiver.archiveRuns({});
  for (const run of spared) console.error(`${run.runId}: ${run.reason}`);
} else {
  for (const runId of positionals) {
    if ((await store.runs.archiveLocation(runId, { tenantId: 'default' })) === null) continue;
    probe('restoring');
    const parts = async function* () {
      for await (const part of archiver.exportRun(runId, { tenantId: 'default' })) {
        yield part;
        probe('part');
      }
    };
    await store.runs.restoreRun(parts());
    probe('restored');
  }
}
await store.close();
