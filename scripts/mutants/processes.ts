/** Test processes that can be stopped with everything they started. */
import { spawn } from 'node:child_process';

/** Running process groups. A mutant may loop forever, so they are all killed on exit. */
const running = new Set<number>();

process.on('exit', () => {
  for (const group of running) process.kill(-group, 'SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

export interface TestProcess {
  /** Resolves with the exit code, or 1 if the process was killed. */
  ended: Promise<number>;
  kill(): void;
}

export function startTests(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv): TestProcess {
  // A separate process group, so that vitest's workers end with it.
  const stdio = process.env.TIDEMARK_MUTANT_OUTPUT === undefined ? 'ignore' : 'inherit';
  const child = spawn(process.execPath, args, { cwd, env, stdio, detached: true });
  const group = child.pid!;
  running.add(group);
  const ended = new Promise<number>((resolve) => {
    child.once('exit', (code) => {
      running.delete(group);
      resolve(code ?? 1);
    });
  });
  return { ended, kill: () => running.has(group) && process.kill(-group, 'SIGKILL') };
}
