/** The tests that judge a mutant, fastest first: the first that fails kills it. */
import { spawn } from 'node:child_process';
import { SOURCE_FLAGS } from '../processes.ts';

/** Arguments of Node, relative to the sandbox. */
type Stage = readonly string[];

export type Verdict = 'killed' | 'survived' | 'timed out';

/**
 * A mutant that exceeds the time limit has been noticed: it loops, or waits forever. The limit of a stage is a multiple
 * of its time on unchanged sources, since a loop takes a processor from the other worker until it is stopped.
 */
const LONGEST_MS = 480_000;
const SHORTEST_LIMIT_MS = 60_000;
const TIMES_AS_LONG = 5;

/** The measured limit of each stage. */
const limits = new Map<string, number>();

function vitest(paths: readonly string[], ...options: string[]): Stage {
  const fixed = ['--bail', '1', '--no-file-parallelism', '--silent=true'];
  return ['node_modules/vitest/vitest.mjs', 'run', ...paths, ...fixed, ...options];
}

/** Tests of `core` keep no state outside of themselves, so that their files can share one process. */
const CORE = vitest(['packages/core'], '--isolate=false');
/** These run the kit, which has judged the mutant already. */
const WITHOUT_KIT = ['--exclude', '**/conformance*.test.ts'];
/** This one plays all orders of artifact calls and takes longer than all others together. */
const WITHOUT_INTERLEAVINGS = ['--exclude', '**/artifact-interleavings.test.ts'];

/** Tests with killed processes check durability, which no mutant of shared SQL affects, and take long. */
const WITHOUT_KILLS = ['--exclude', '**/faults.test.ts', '--exclude', '**/blob-kills.test.ts'];

/** The backends that the tests may start or use. */
const SERVERS = 'memory,sqlite,redis';

function kit(engine: string, domain: string): Stage {
  return [...SOURCE_FLAGS, 'scripts/mutants/kit-child.ts', engine, domain];
}

function stagesFor(file: string): Stage[] {
  const [, name = '', , part = ''] = file.split('/');
  if (name === 'redis') return [kit('redis', part), vitest(['packages/redis/test'], ...WITHOUT_KIT)];
  if (name === 'sql')
    return [kit('sqlite', part), vitest(['packages/sql', 'packages/sqlite/test'], ...WITHOUT_KIT, ...WITHOUT_KILLS)];
  const core = /artifact|keyed/.test(file) ? CORE : [...CORE, ...WITHOUT_INTERLEAVINGS];
  return [kit('memory', part), core, kit('sqlite', part)];
}

/** Measures the tests of a file on unchanged sources. Mutants may take a few times as long. */
export async function measure(sandbox: string, file: string): Promise<Verdict> {
  for (const stage of stagesFor(file)) {
    const began = performance.now();
    const outcome = await run(sandbox, stage);
    if (outcome !== 0) return outcome === 'timed out' ? outcome : 'killed';
    const limit = Math.max(SHORTEST_LIMIT_MS, TIMES_AS_LONG * (performance.now() - began));
    limits.set(limitKey(stage), Math.min(LONGEST_MS, limit));
  }
  return 'survived';
}

/** The kit takes the same time whichever domain comes first. */
function limitKey(stage: Stage): string {
  return stage.slice(0, -1).join(' ');
}

/** Runs the tests of a file's stages in a sandbox where that file may be changed. */
export async function judge(sandbox: string, file: string): Promise<Verdict> {
  for (const stage of stagesFor(file)) {
    const outcome = await run(sandbox, stage, limits.get(limitKey(stage)));
    if (outcome === 'timed out') return outcome;
    if (outcome !== 0) return 'killed';
  }
  return 'survived';
}

/** Running process groups. A mutant may loop forever, so they are all killed on exit. */
const running = new Set<number>();

function killAll(): void {
  for (const group of running) process.kill(-group, 'SIGKILL');
}

process.on('exit', killAll);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

function run(cwd: string, args: Stage, limitMs: number = LONGEST_MS): Promise<number | 'timed out'> {
  return new Promise((resolve) => {
    const env = { ...process.env, TIDEMARK_TEST_BACKENDS: SERVERS };
    // A separate process group, so that vitest's workers end with it.
    const child = spawn(process.execPath, args, { cwd, env, stdio: 'ignore', detached: true });
    running.add(child.pid!);
    const timer = setTimeout(() => {
      process.kill(-child.pid!, 'SIGKILL');
      resolve('timed out');
    }, limitMs);
    child.once('close', (code) => {
      running.delete(child.pid!);
      clearTimeout(timer);
      resolve(code ?? 1);
    });
  });
}
