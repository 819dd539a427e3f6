/** Tests a mutant without a switch, in separate processes: constants and Lua scripts. */
import { startTests } from './processes.ts';
import type { Sandbox } from './sandbox.ts';
import { argumentsOf, environmentOf, STAGES, type Stage } from './stages.ts';

export type Verdict = 'killed' | 'survived' | 'timed out';

/**
 * A mutant that exceeds the time limit counts as detected: it loops, or waits forever. The limit of a stage is a
 * multiple of its time on unchanged sources.
 */
const MAX_MS = 900_000;
const MIN_LIMIT_MS = 60_000;
const TIMES_AS_LONG = 5;

/** The measured limit of each stage. */
const limits = new Map<Stage, number>();

/** Runs the stages of a file on its changed source, and leaves the original in the sandbox. */
export async function judgeAlone(sandbox: Sandbox, file: string, changed: string, source: string): Promise<Verdict> {
  for (const stage of STAGES.filter((it) => it.runs(file))) {
    limits.set(stage, limits.get(stage) ?? (await measure(sandbox, stage)));
    sandbox.write(file, changed);
    try {
      const outcome = await run(sandbox, stage);
      if (outcome === 'timed out') return outcome;
      // On a busy machine a test that measures time may fail without the mutant, but rarely twice in a row. A failure
      // of the kit counts at once, because its cases wait as long as necessary.
      if (outcome !== 0 && (stage.kit || (await run(sandbox, stage)) !== 0)) return 'killed';
    } finally {
      sandbox.write(file, source);
    }
  }
  return 'survived';
}

/** Returns the time limit of a stage. Throws if a test fails without any change, because it would kill every mutant. */
async function measure(sandbox: Sandbox, stage: Stage): Promise<number> {
  const began = performance.now();
  const outcome = await run(sandbox, stage);
  if (outcome !== 0) throw new Error(`Tests of the stage "${stage.name}" fail without any change (${outcome}).`);
  const took = performance.now() - began;
  console.error(`mutants: ${stage.name}: ${(took / 1000).toFixed(1)} s without any change`);
  return Math.min(MAX_MS, Math.max(MIN_LIMIT_MS, TIMES_AS_LONG * took));
}

async function run({ root }: Sandbox, stage: Stage): Promise<number | 'timed out'> {
  const tests = startTests(root, [...argumentsOf(stage), '--bail=1'], environmentOf(stage));
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'timed out'>((resolve) => {
    timer = setTimeout(() => {
      tests.kill();
      resolve('timed out');
    }, limits.get(stage) ?? MAX_MS);
  });
  const outcome = await Promise.race([tests.ended, late]);
  clearTimeout(timer);
  return outcome;
}
