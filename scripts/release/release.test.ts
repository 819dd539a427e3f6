import { describe, expect, it } from 'vitest';
import { type Manifest, manifestPages, readManifest } from '../packages/manifests.ts';
import { ROOT } from '../processes.ts';
import { checkVersion, closeSection, sectionOf } from './changelog.ts';
import { type Bom, bundledPackages, type Component, licencePage, narrowed } from './components.ts';

const CHANGELOG = '# Changelog\n\n## 0.2 (unreleased)\n\n- New.\n\n### Fixed\n\n- Old.\n\n## 0.1\n\n- First.\n';

describe('the version of a release', () => {
  it.each([['0.2.0'], ['0.1.1'], ['1.0.0-rc.1'], ['0.1.0']])('can be %s after 0.1.0', (version) => {
    expect(() => checkVersion(version, '0.1.0')).not.toThrow();
  });

  it.each([
    ['0.2', 'not a version'],
    ['v0.2.0', 'not a version'],
    ['0.2.0; true', 'not a version'],
    ['0.0.9', 'older than 0.1.0'],
  ])('cannot be %s', (version, problem) => {
    expect(() => checkVersion(version, '0.1.0')).toThrow(problem);
  });

  it('is written to every manifest, the lock file and the Python client', () => {
    const shared = { ...readManifest(ROOT), version: '7.8.9' };
    const pages = manifestPages(ROOT, shared);
    const old = readManifest(ROOT).version;
    for (const [path, text] of pages) {
      expect(text, path).toMatch(/"?version"?(:| =) "7\.8\.9"/);
      expect(text, path).not.toMatch(new RegExp(`"(tidemark|@tidemark/[a-z]+)": "${old.replaceAll('.', '\\.')}"`));
    }
    expect(pages.map(([path]) => path)).toEqual(
      expect.arrayContaining(['package-lock.json', 'clients/python/pyproject.toml', 'packages/core/package.json']),
    );
  });
});

describe('the changelog of a release', () => {
  it('gets the version and date instead of "unreleased"', () => {
    const closed = closeSection(CHANGELOG, '0.2.0', '2026-11-18');
    expect(closed).toBe(CHANGELOG.replace('## 0.2 (unreleased)', '## 0.2.0 (2026-11-18)'));
    expect(sectionOf(closed, '0.2.0')).toBe('- New.\n\n### Fixed\n\n- Old.\n');
  });

  it('has the notes of earlier versions, but none of an unreleased one', () => {
    expect(sectionOf(CHANGELOG, '0.1.0')).toBe('- First.\n');
    expect(() => sectionOf(CHANGELOG, '0.2.0')).toThrow('no section for 0.2.0');
  });

  it.each([
    ['of another series', CHANGELOG, '0.3.0', 'is for 0.2, not for 0.3.0'],
    ['that is missing', '# Changelog\n\n## 0.1\n\n- First.\n', '0.2.0', 'no unreleased section'],
    ['that is empty', '# Changelog\n\n## 0.2 (unreleased)\n\n## 0.1\n', '0.2.0', 'is empty'],
  ])('refuses a section %s', (_, changelog, version, problem) => {
    expect(() => closeSection(changelog, version, '2026-11-18')).toThrow(problem);
  });
});

describe('the components of a release', () => {
  const component = (name: string, version: string, licence?: string): Component => ({
    'bom-ref': `${name}@${version}`,
    name: name.replace('@tidemark/', ''),
    version,
    purl: `pkg:npm/${name}@${version}`,
    licenses: licence === undefined ? [] : [{ license: { id: licence } }],
  });
  const bom: Bom = {
    metadata: { component: component('clone', '0.1.0', 'MIT') },
    components: [
      component('@tidemark/example', '0.1.0', 'MIT'),
      component('driver', '1.0.0', 'ISC'),
      component('deep', '2.0.0', 'MIT'),
      component('page', '3.0.0', 'MIT'),
      component('linter', '4.0.0'),
    ],
    dependencies: [
      { ref: '@tidemark/example@0.1.0', dependsOn: ['driver@1.0.0', 'linter@4.0.0'] },
      { ref: 'driver@1.0.0', dependsOn: ['deep@2.0.0'] },
    ],
  };
  const own: Manifest = {
    name: '@tidemark/example',
    version: '0.1.0',
    dependencies: { driver: '1.0.0' },
    devDependencies: { linter: '4.0.0' },
  };
  const released = narrowed(bom, [own], ['page'], '0.2.0');

  it('are the published packages, their dependencies and bundled packages, without development tools', () => {
    expect(released.components.map((it) => it['bom-ref'])).toEqual([
      '@tidemark/example@0.2.0',
      'deep@2.0.0',
      'driver@1.0.0',
      'page@3.0.0',
    ]);
    expect(released.components[0]).toMatchObject({ version: '0.2.0', purl: 'pkg:npm/%40tidemark/example@0.2.0' });
    const refs = [...released.components, released.metadata.component].map((it) => it['bom-ref']);
    const named = released.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]);
    expect(named.filter((ref) => !refs.includes(ref))).toEqual([]);
  });

  it('each have a licence', () => {
    expect(licencePage(released)).toContain('| driver | 1.0.0 | ISC |');
    expect(() => licencePage(bom)).toThrow('linter@4.0.0 declares no licence');
  });

  it('include the libraries of the inspector', () => {
    expect(bundledPackages(ROOT)).toEqual(['@preact/signals', 'preact']);
  });
});
