/** The static site is complete, its links lead somewhere, and the server serves it at `/docs`. */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { memoryStore } from '@tidemark/core';
import { createServer } from '@tidemark/server';
import { ROUTES } from '@tidemark/wire/routes';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publishedEntries } from '../api/entries.ts';
import { readSurface } from '../api/surface.ts';
import { ROOT } from '../processes.ts';
import { renderMarkdown, sectionsOf } from './markdown.ts';
import { LEFT_OUT, readReference } from './reference.ts';
import { buildSite, chaptersOf } from './site.ts';

interface Found {
  title: string;
  url: string;
}

const SLOW = 300_000;
let directory: string;
let index: Found[];
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tidemark-site-'));
  buildSite(ROOT, directory);
  index = JSON.parse(read('search-index.js').replace('window.searchIndex = ', '').replace(/;\n$/, ''));
}, SLOW);
afterAll(() => rmSync(directory, { recursive: true }));

const read = (path: string) => readFileSync(join(directory, path), 'utf8');

describe('the site', () => {
  it('has only links that lead to files and headings, and needs no other host', () => {
    const anchors = new Map<string, Set<string>>();
    const pages = globSync('**/*.html', { cwd: directory });
    for (const page of pages)
      anchors.set(page, new Set([...read(page).matchAll(/ id="([^"]*)"/g)].map(([, id]) => id!)));
    expect(pages.length).toBeGreaterThan(60);
    for (const page of pages) {
      for (const [, , target = ''] of read(page).matchAll(/(href|src)="([^"]*)"/g)) {
        if (/^[a-z]+:/.test(target)) continue;
        const [file = '', anchor] = target.split('#');
        const path = file === '' ? page : join(dirname(page), file);
        expect(globSync(path, { cwd: directory }), `${page}: ${target}`).toHaveLength(1);
        if (anchor !== undefined) expect([...anchors.get(path)!], `${page}: ${target}`).toContain(anchor);
      }
      for (const [tag] of read(page).matchAll(/<(?:script|link|img)[^>]*>/g)) expect(tag).not.toMatch(/https?:/);
    }
  });

  it('can be searched for every route, command and exported name of tidemark', () => {
    const titles = new Set(index.map(({ title }) => title));
    for (const route of Object.keys(ROUTES)) expect(titles).toContain(route);
    for (const title of ['runs append', 'Pause and resume once', 'RunStore', 'withRetries', 'A run is quarantined'])
      expect(titles).toContain(title);
  });

  it('has each page in one chapter, and no chapter with a page that does not exist', () => {
    const chapters = { A: ['README.md', 'a', 'guide/*'], B: ['guide/b'] };
    const paths = ['README.md', 'docs/a.md', 'docs/guide/b.md', 'docs/guide/c.md'];
    expect(Object.fromEntries(chaptersOf(paths, chapters))).toEqual({
      ...{ 'README.md': 'A', 'docs/a.md': 'A', 'docs/guide/b.md': 'B', 'docs/guide/c.md': 'A' },
    });
    expect(() => chaptersOf(paths.slice(1), chapters)).toThrow('README.md, which does not exist');
    expect(() => chaptersOf([...paths, 'docs/d.md'], chapters)).toThrow(
      'No chapter of the documentation has docs/d.md',
    );
  });

  it('is served at /docs', async () => {
    const store = memoryStore();
    const server = createServer({ store, docs: directory, inspector: false, logger: { info() {}, error() {} } });
    const url = await server.listen();
    try {
      const folder = await fetch(`${url}/docs`, { redirect: 'manual' });
      expect([folder.status, folder.headers.get('location')]).toEqual([308, '/docs/']);
      const start = await fetch(`${url}/docs/`);
      expect(start.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(start.headers.get('content-security-policy')).toContain("script-src 'self'");
      expect(await start.text()).toContain('<title>Tidemark · Tidemark</title>');
      expect((await fetch(`${url}/docs/guide/runs.html`)).status).toBe(200);
      expect((await fetch(`${url}/docs/guide/missing.html`)).status).toBe(404);
      expect((await fetch(`${url}/docs/..%2f..%2fpackage.json`)).status).toBe(404);
      expect((await fetch(`${url}/guide/runs.html`)).status).toBe(404);
    } finally {
      await server.close();
      await store.close();
    }
  });
});

describe('the reference', () => {
  it('has an entry with a comment and an example for each exported name of each module', { timeout: SLOW }, () => {
    const published = publishedEntries(ROOT);
    const surface = readSurface(
      ROOT,
      published.map(({ file }) => file),
    );
    const entries = new Map(readReference(ROOT).map((entry) => [`${entry.file}#${entry.name}`, entry]));
    const specifiers = published.map(({ specifier }) => specifier);
    expect(LEFT_OUT.filter((it) => !specifiers.includes(it))).toEqual([]);
    for (const { specifier, file } of published.filter((entry) => !LEFT_OUT.includes(entry.specifier))) {
      for (const { name, file: declaredIn } of surface.get(file)!) {
        const entry = entries.get(`${declaredIn}#${name}`);
        expect.soft(entry?.comment ?? '', `comment of ${specifier} ${name}`).toMatch(/./);
        expect.soft(entry?.examples.length, `examples of ${specifier} ${name}`).toBeGreaterThan(0);
      }
    }
  });

  it('has a page per module, and no two pages have the same name', () => {
    const pages = globSync('reference/*.html', { cwd: directory });
    for (const name of ['tidemark', 'client', 'client-slim', 'sqlite', 'server', 'runtime'])
      expect(pages).toContain(`reference/${name}.html`);
  });

  it('has a description and an example for each route', () => {
    const page = readFileSync(join(ROOT, 'docs/http-routes.md'), 'utf8');
    const sections = new Map(
      page.split(/^#+ /m).map((section) => [section.split('\n')[0]!.replaceAll('`', ''), section]),
    );
    for (const route of Object.keys(ROUTES)) {
      const [, description = '', example = ''] =
        /\n\n(.+?)\n[\s\S]*?```sh\n([\s\S]*?)```/.exec(sections.get(route) ?? '') ?? [];
      expect.soft(description, route).toMatch(/\w/);
      expect.soft(example, route).toMatch(/^curl /);
    }
  });
});

describe('a page', () => {
  it('keeps links to pages of the site and drops others', () => {
    const targetOf = (file: string) =>
      file === 'docs/kv.md' || file === 'docs/a.md' ? file.replace('.md', '.html') : null;
    expect(
      renderMarkdown('docs/a.md', '[x](kv.md#y) [z](../packages/none.ts) [w](https://example.com)', targetOf),
    ).toBe('<p><a href="kv.html#y">x</a> z <a href="https://example.com">w</a></p>\n');
  });

  it('has sections with the anchors of its headings', () => {
    expect(sectionsOf('# A\none\n```sh\n# no heading\n```\n## B `c`\ntwo')).toEqual([
      { title: 'A', anchor: '', text: expect.stringContaining('one') },
      { title: 'B c', anchor: 'b-c', text: 'two' },
    ]);
  });
});
