/**
 * `npm run check -- words`: prints every phrase in comments and pages that is listed in `scripts/words/phrases.ts`,
 * with the words to write instead. `npm run words -- packages/core README.md` reads only these files and folders.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { ROOT } from './processes.ts';
import { offencesOf } from './words/offences.ts';

const paths = process.argv.slice(2);
const missing = paths.filter((path) => !existsSync(resolve(ROOT, path)));
if (missing.length > 0) {
  console.error(`No such file or folder: ${missing.join(', ')}`);
  process.exit(1);
}

const offences = offencesOf(ROOT, paths);
for (const { path, line, words, write } of offences) console.error(`${path}:${line}: "${words}" → ${write}`);
if (offences.length > 0) console.error(`\n${offences.length} to rewrite`);
process.exitCode = offences.length === 0 ? 0 : 1;
