/** Which tests judge a mutant, fastest first: the first that fails kills it. */
import { spawn } from 'node:child_process';
import { SOURCE_FLAGS } from '../processes.ts';

/** Arguments of Node, relative to the sandbox. */
type Stage = readonly string[];

export type Verdict = 'killed' | 'survived' | 'timed out';

/** A mutant that makes the tests run so long has been noticed: it loops, or waits for what never comes. */
const LIMIT_MS = 240_000;

const VITEST = ['node_modules/vitest/vitest.mjs', 'run', '--bail', '1', '--no-file-parallelism', '--silent=true'];

/** What the tests may start or use. */
const SERVERS = 'memory,sqlite,redis';

function kit(engine: string, domain: string): Stage {
  return [...SOURCE_FLAGS, 'scripts/mutants/kit-child.ts', engine, domain];
}

function stagesFor(file: string): Stage[] {
  const [, name = '', , part = ''] = file.split('/');
  if (name === 'redis') return [kit('redis', part), [...VITEST, 'packages/redis/test']];
  if (name === 'sql') return [kit('sqlite', part), [...VITEST, 'packages/sql', 'packages/sqlite/src']];
  return [kit('memory', part), kit('sqlite', part), [...VITEST, 'packages/core']];
}

/** Runs the tests of a file's stages in a sandbox where that file may be changed. */
export async function judge(sandbox: string, file: string): Promise<Verdict> {
  for (const stage of stagesFor(file)) {
    const outcome = await run(sandbox, stage);
    if (outcome === 'timed out') return outcome;
    if (outcome !== 0) return 'killed';
  }
  return 'survived';
}

function run(cwd: string, args: Stage): Promise<number | 'timed out'> {
  return new Promise((resolve) => {
    const env = { ...process.env, TIDEMARK_TEST_BACKENDS: SERVERS };
    const child = spawn(process.execPath, args, { cwd, env, stdio: 'ignore', detached: true });
    const timer = setTimeout(() => {
      // The whole group: vitest's workers would go on without it.
      process.kill(-child.pid!, 'SIGKILL');
      resolve('timed out');
    }, LIMIT_MS);
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve(code ?? 1);
    });
  });
}
