/**
 * `npm run check -- packages`: builds and packs every published package, and checks the tarballs: publint, the types
 * under Node's module resolution (attw), the files that belong in a package and those that do not.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { type Packed, packAll } from './packages/pack.ts';
import { ROOT, runQuietly, toolPath } from './processes.ts';

const NEEDED = ['LICENSE', 'README.md', 'package.json'];
const UNWANTED = /\.tsbuildinfo$|\.map$|\.test\.|(^|\/)src\//;

async function problemsOf({ tarball, files }: Packed): Promise<string[]> {
  const bytes = readFileSync(tarball);
  const { messages, pkg } = await publint({
    pack: { tarball: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) },
    strict: true,
  });
  const types = await runQuietly(process.execPath, [
    toolPath('@arethetypeswrong/cli', 'attw'),
    tarball,
    ...['--profile', 'esm-only', '--no-emoji', '--no-color', '--format', 'ascii'],
  ]);
  return [
    ...messages.map((message) => formatMessage(message, pkg, { color: false }) ?? message.code),
    ...(types.code === 0 ? [] : [types.output]),
    ...NEEDED.filter((file) => !files.includes(file)).map((file) => `${file} is missing`),
    ...files.filter((file) => UNWANTED.test(file)).map((file) => `${file} does not belong in a package`),
  ];
}

const built = await runQuietly(process.execPath, [join(ROOT, 'scripts/run.js'), 'build']);
if (built.code !== 0) {
  console.error(built.output);
  process.exit(1);
}
const directory = mkdtempSync(join(tmpdir(), 'tidemark-packages-'));
try {
  for (const packed of packAll(directory)) {
    const problems = await problemsOf(packed);
    console.log(`${packed.name} ${packed.version}: ${Math.round(packed.unpackedBytes / 1024)} KB unpacked`);
    for (const problem of problems) console.error(`  ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}
