#!/usr/bin/env node
/**
 * `tidemark-conformance ./my-store.js#createStore`: runs the kit on any store. Exits with 0 if the store conforms, 1 if
 * it does not, 2 if the kit could not run.
 */
import { runCommand, UsageError } from './command.ts';

try {
  process.exitCode = await runCommand(process.argv.slice(2), console.log);
} catch (error) {
  console.error(error instanceof UsageError ? error.message : error);
  process.exitCode = 2;
}
