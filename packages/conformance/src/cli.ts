#!/usr/bin/env node
/** `tidemark-conformance ./my-store.js#createStore`: runs the kit on anybody's store. Exit code 0 conforms, 1 does not, 2 could not run. */
import { runCommand, UsageError } from './command.ts';

try {
  process.exitCode = await runCommand(process.argv.slice(2), console.log);
} catch (error) {
  console.error(error instanceof UsageError ? error.message : error);
  process.exitCode = 2;
}
