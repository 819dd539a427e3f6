/** Every package publishes a README with a program and its output, which `pages.test.ts` runs. */
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { programsOf } from '../scripts/pages/programs.ts';
import { ROOT } from '../scripts/processes.ts';

const PACKAGES = globSync('packages/*/package.json', { cwd: ROOT }).map((manifest) => basename(dirname(manifest)));

function readReadme(name: string): string {
  return readFileSync(join(ROOT, 'packages', name, 'README.md'), 'utf8');
}

describe('the README of a package', () => {
  it.each(PACKAGES)('is published with %s and links to further reading', (name) => {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'packages', name, 'package.json'), 'utf8'));
    if (manifest.files) expect(manifest.files).toContain('README.md');
    expect(readReadme(name)).toContain(`# ${manifest.name}\n`);
    expect(readReadme(name)).toContain('\nRead on: [');
  });

  // The inspector is a web page, so its README has no program.
  it.each(PACKAGES.filter((name) => name !== 'inspector'))('has a program with its output, for %s', (name) => {
    const [program] = programsOf('README.md', readReadme(name));
    expect(program?.output).toMatch(/./);
  });
});
