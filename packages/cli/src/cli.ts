#!/usr/bin/env node
/** The `tidemark` command. The compile cache saves most of the start-up time of a short command. */
import * as nodeModule from 'node:module';

/**
 * Returns whether Node is new enough. If it is not, prints core's explanation, because on such a version the other
 * modules could not even be linked.
 */
async function isNodeNewEnough(): Promise<boolean> {
  try {
    await import('@tidemark/core');
    return true;
  } catch (error) {
    console.error((error as Error).message);
    return false;
  }
}

nodeModule.enableCompileCache?.();
if (await isNodeNewEnough()) {
  const { processIo, run } = await import('./index.ts');
  process.exitCode = await run(process.argv.slice(2), processIo());
} else {
  process.exitCode = 1;
}
