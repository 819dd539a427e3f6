#!/usr/bin/env node
/** The `tidemark` command. What Node compiles is kept for the next call: that is most of the time a short one takes. */
import { enableCompileCache } from 'node:module';

enableCompileCache();
const { processIo, run } = await import('./index.ts');

process.exitCode = await run(process.argv.slice(2), processIo());
