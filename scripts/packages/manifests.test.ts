import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { nodeVersionProblem } from '../../packages/core/src/node-version.ts';
import { ROOT } from '../processes.ts';
import { completed, floorsOf, type Manifest, manifestPages, packageFolders, readManifest } from './manifests.ts';
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

describe('the supported versions of Node', () => {
  const floors = floorsOf(shared.engines!.node);
  const [lowest, next] = floors.map((floor) => floor.split('.').map(Number));
  const sentence = `Node ${floors[0]} or newer, but not ${next![0]}.0 to ${next![0]}.${next![1]! - 1}`;

  it.each(floors)('start at %s, as core enforces', (floor) => {
    const [major, minor] = floor.split('.').map(Number);
    expect(nodeVersionProblem(`${floor}.0`)).toBeNull();
    expect(nodeVersionProblem(`${major}.${minor! - 1}.9`)).toContain(sentence);
  });

  it('have one gap', () => {
    expect(shared.engines!.node).toBe(`^${floors[0]} || >=${floors[1]}`);
    expect(next![0]).toBe(lowest![0]! + 1);
  });

  it('are the ones that the docs mention', () => {
    const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
    const named = pages
      .filter((page) => page !== 'CHANGELOG.md')
      .flatMap((page) =>
        [
          ...readFileSync(join(ROOT, page), 'utf8').matchAll(
            /Node \d+\.\d+\s+or newer[^.]*?\d\.\d+\s+to\s+\d+\.\d+|Node \d+\.\d+\s+or newer/g,
          ),
        ].map(([text]) => [page, text.replaceAll(/\s+/g, ' ')]),
      );
    expect(named.filter(([, text]) => text !== sentence)).toEqual([]);
    expect(named.length).toBeGreaterThan(1);
  });
});
