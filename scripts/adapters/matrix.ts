/** `npm run test:matrix -- adapters`: the tests of the adapters for frameworks at full length, on every engine. */
import { ROOT, runVisibly } from '../processes.ts';

const ADAPTERS = ['langgraph', 'claude', 'openai-agents', 'ai-sdk'];
const SEQUENCES = '1000';

/** Runs the tests and returns the exit code. */
export async function testAdapters(): Promise<number> {
  const env = { ...process.env, TIDEMARK_TEST_SEQUENCES: SEQUENCES };
  const tests = ADAPTERS.map((name) => `packages/${name}/test`);
  return runVisibly(process.execPath, ['scripts/run.js', 'test', ...tests], { cwd: ROOT, env });
}
