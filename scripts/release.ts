/**
 * `npm run release -- 0.2.0`: packs that version to `dist/release`, with SBOM, licences and release notes, and prints
 * the files that the release changes. `--write` also changes them. Without a version it packs the current one, which
 * the changelog must list as released. It never publishes: `.github/workflows/release.yml` does.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { manifestPages, readManifest } from './packages/manifests.ts';
import { packAll } from './packages/pack.ts';
import { ROOT, runQuietly } from './processes.ts';
import { checkVersion, closeSection, sectionOf } from './release/changelog.ts';
import { type Bom, bundledPackages, licencePage, narrowed, publishedManifests } from './release/components.ts';

const OUTPUT = join(ROOT, 'dist/release');

/** Returns the content of every file that a release changes, by path. */
function changedFiles(version: string, changelog: string): [path: string, text: string][] {
  const shared = { ...readManifest(ROOT), version };
  const files: [string, string][] = [
    ['package.json', `${JSON.stringify(shared, null, 2)}\n`],
    ['CHANGELOG.md', changelog],
    ...manifestPages(ROOT, shared),
  ];
  return files.filter(([path, text]) => readFileSync(join(ROOT, path), 'utf8') !== text);
}

function readBom(): Bom {
  const output = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
  });
  return JSON.parse(output) as Bom;
}

function writeOutput(name: string, text: string): void {
  writeFileSync(join(OUTPUT, name), text);
  console.log(`wrote ${relative(ROOT, join(OUTPUT, name))}`);
}

async function release(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { write: { type: 'boolean', default: false }, 'dry-run': { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const current = readManifest(ROOT).version;
  const [version = current, ...surplus] = positionals;
  if (surplus.length > 0) throw new Error(`Unexpected arguments: ${surplus.join(' ')}`);
  if (values.write && values['dry-run']) throw new Error('Use either --write or --dry-run.');
  checkVersion(version, current);
  const present = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
  const changelog =
    version === current ? present : closeSection(present, version, new Date().toISOString().slice(0, 10));
  const notes = sectionOf(changelog, version);

  console.log('building');
  const built = await runQuietly(process.execPath, [join(ROOT, 'scripts/run.js'), 'build']);
  if (built.code !== 0) throw new Error(built.output);
  rmSync(OUTPUT, { recursive: true, force: true });
  for (const { name, tarball, unpackedBytes } of packAll(OUTPUT, version)) {
    console.log(`packed ${name} ${version}: ${Math.round(unpackedBytes / 1024)} KB, ${relative(ROOT, tarball)}`);
  }
  const bom = narrowed(readBom(), publishedManifests(ROOT), bundledPackages(ROOT), version);
  writeOutput('sbom.cdx.json', `${JSON.stringify(bom, null, 2)}\n`);
  writeOutput('LICENCES.md', licencePage(bom));
  writeOutput('NOTES.md', notes);

  const files = changedFiles(version, changelog);
  for (const [path, text] of files) {
    if (values.write) writeFileSync(join(ROOT, path), text);
    console.log(`${values.write ? 'changed' : 'would change'} ${path}`);
  }
  if (values.write)
    console.log(`Next: npm run fixtures -- ${version}, npm test, commit, and push the tag v${version}.`);
  else console.log(`Dry run: nothing outside ${relative(ROOT, OUTPUT)} and the build was changed.`);
}

try {
  await release();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
