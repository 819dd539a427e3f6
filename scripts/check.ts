/**
 * `npm run check`: types, lint and format, unused code, layering, packed packages, documents, generated pages,
 * spelling, commit subjects and words. Prints one line per check, and the output of failed ones. Arguments select the
 * checks to run: `npm run check -- types lint`.
 */

import { join } from 'node:path';
import { ROOT, runQuietly, toolPath } from './processes.ts';

const SCRIPT = join(ROOT, 'scripts/run.js');
/** Unchanged files are not read again, so the spell check takes one second instead of six. */
const SPELLING = join(ROOT, 'node_modules/.cache/cspell');

const CHECKS = [
  { name: 'types', tool: toolPath('typescript', 'tsc'), args: ['-b'] },
  { name: 'lint', tool: toolPath('@biomejs/biome', 'biome'), args: ['ci', '--colors=off', '.'] },
  { name: 'unused', tool: toolPath('knip', 'knip'), args: ['--no-progress', '--no-config-hints'] },
  {
    name: 'layering',
    tool: toolPath('dependency-cruiser', 'depcruise'),
    args: ['--output-type', 'err-long', 'packages', 'scripts', 'examples'],
  },
  { name: 'packages', tool: SCRIPT, args: ['packages'] },
  { name: 'documents', tool: SCRIPT, args: ['documents'] },
  { name: 'pages', tool: SCRIPT, args: ['docs', '--check'] },
  {
    name: 'spelling',
    tool: toolPath('cspell', 'cspell'),
    args: [
      'lint',
      '--no-progress',
      '--no-color',
      '--cache',
      '--cache-strategy',
      'content',
      '--cache-location',
      SPELLING,
    ],
  },
  { name: 'commits', tool: SCRIPT, args: ['commits'] },
  { name: 'words', tool: SCRIPT, args: ['words'] },
];
/** More concurrent checks only slow each other down on the two cores of a small CI machine. */
const AT_ONCE = 2;

type Check = (typeof CHECKS)[number];

/** Runs one check, prints its line, and returns whether it passed. */
async function passes({ name, tool, args }: Check): Promise<boolean> {
  const began = performance.now();
  const { code, output } = await runQuietly(process.execPath, [tool, ...args]);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'}  ${name.padEnd(10)} ${seconds.padStart(5)} s`);
  if (code !== 0) console.log(`\n${output.trim()}\n`);
  return code === 0;
}

function chosenChecks(names: string[]): Check[] {
  const unknown = names.filter((name) => !CHECKS.some((check) => check.name === name));
  if (unknown.length > 0) {
    console.error(`No such check: ${unknown.join(', ')}. There are: ${CHECKS.map(({ name }) => name).join(', ')}.`);
    process.exit(1);
  }
  return names.length > 0 ? CHECKS.filter(({ name }) => names.includes(name)) : [...CHECKS];
}

const waiting = chosenChecks(process.argv.slice(2));
let failed = false;
async function work(): Promise<void> {
  for (let check = waiting.shift(); check; check = waiting.shift()) {
    if (!(await passes(check))) failed = true;
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, work));
process.exitCode = failed ? 1 : 0;
