#!/usr/bin/env node
/** The `tidemark` command. The compile cache saves most of the start-up time of a short command. */
import { enableCompileCache } from 'node:module';

enableCompileCache();
const { processIo, run } = await import('./index.ts');

process.exitCode = await run(process.argv.slice(2), processIo());
