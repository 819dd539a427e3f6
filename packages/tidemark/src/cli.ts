#!/usr/bin/env node
/** The `tidemark` command: runs @tidemark/cli, or prints how to install it. */
import * as nodeModule from 'node:module';

/** The exports of @tidemark/cli that are used here. That package depends on this one, so its types are not imported. */
interface CommandLine {
  processIo(): unknown;
  run(argv: readonly string[], io: unknown): Promise<number>;
}

const PACKAGE: string = '@tidemark/cli';

function isMissing(error: unknown, name: string): boolean {
  return (error as { code?: string }).code === 'ERR_MODULE_NOT_FOUND' && String(error).includes(`'${name}'`);
}

async function loadCommandLine(): Promise<CommandLine | null> {
  try {
    return (await import(PACKAGE)) as CommandLine;
  } catch (error) {
    if (isMissing(error, PACKAGE)) return null;
    throw error;
  }
}

/** Prints the one sentence with which core refuses an old Node; the command line would not even link there. */
async function isNodeNewEnough(): Promise<boolean> {
  try {
    await import('@tidemark/core');
    return true;
  } catch (error) {
    if (isMissing(error, '@tidemark/core')) return true;
    console.error((error as Error).message);
    return false;
  }
}

nodeModule.enableCompileCache?.();
const isUsable = await isNodeNewEnough();
const commandLine = isUsable ? await loadCommandLine() : null;
if (!isUsable) {
  process.exitCode = 1;
} else if (commandLine) {
  process.exitCode = await commandLine.run(process.argv.slice(2), commandLine.processIo());
} else {
  console.error(`The tidemark command needs the package ${PACKAGE}; install it with: npm install ${PACKAGE}`);
  process.exitCode = 1;
}
