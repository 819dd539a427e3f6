import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { nodeVersionProblem } from '../../packages/core/src/node-version.ts';
import { ROOT } from '../processes.ts';
import { completed, floorOf, type Manifest, manifestPages, packageFolders, readManifest } from './manifests.ts';
import { publishedManifest } from './pack.ts';

const shared = readManifest(ROOT);
const own: Manifest = {
  name: '@tidemark/example',
  version: '0.0.1',
  keywords: ['example'],
  files: ['dist'],
  exports: { '.': { 'tidemark-source': './src/index.ts', default: './dist/index.js' } },
  scripts: { test: 'true' },
  dependencies: { '@tidemark/core': '0.0.1', jose: '1.2.3' },
  devDependencies: { '@tidemark/wire': '0.0.1' },
};

describe('the manifests of the packages', () => {
  it.each(manifestPages(ROOT))('%s has the shared fields', (path, text) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toBe(text);
  });

  it('get version, minimum Node, licence and address from the repository', () => {
    expect(completed(own, shared, 'packages/example')).toMatchObject({
      version: shared.version,
      engines: shared.engines,
      license: shared.license,
      repository: { url: shared.repository!.url, directory: 'packages/example' },
      sideEffects: false,
      publishConfig: { access: 'public' },
      dependencies: { '@tidemark/core': shared.version, jose: '1.2.3' },
    });
  });

  it('are published without the condition for sources, scripts and development dependencies', () => {
    expect(publishedManifest(own)).toEqual({
      name: '@tidemark/example',
      version: '0.0.1',
      keywords: ['example'],
      files: ['dist'],
      exports: { '.': { default: './dist/index.js' } },
      dependencies: { '@tidemark/core': '0.0.1', jose: '1.2.3' },
    });
  });

  it('never depend on an unpublished package', () => {
    const published = packageFolders(ROOT, { published: true }).map((folder) => readManifest(join(ROOT, folder)));
    const names = published.map(({ name }) => name);
    const needed = published.flatMap(({ dependencies, peerDependencies }) =>
      Object.keys({ ...dependencies, ...peerDependencies }),
    );
    expect(needed.filter((name) => /^(@tidemark\/|tidemark$)/.test(name) && !names.includes(name))).toEqual([]);
  });
});

describe('the minimum version of Node', () => {
  const floor = floorOf(shared);

  it('is the one that core enforces', () => {
    const [major, minor] = floor.split('.').map(Number);
    expect(nodeVersionProblem(`${floor}.0`)).toBeNull();
    expect(nodeVersionProblem(`${major}.${minor! - 1}.9`)).toContain(`Node ${floor} or newer`);
  });

  it('is the one that the docs mention', () => {
    const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
    const named = pages
      .filter((page) => page !== 'CHANGELOG.md')
      .flatMap((page) =>
        [...readFileSync(join(ROOT, page), 'utf8').matchAll(/Node (\d+\.\d+) or newer/g)].map(([, it]) => [page, it]),
      );
    expect(named.filter(([, version]) => version !== floor)).toEqual([]);
    expect(named.length).toBeGreaterThan(1);
  });
});
