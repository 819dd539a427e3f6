/**
 * Builds the documentation as a static site that works offline and from the file system: every page of `docs/`, the API
 * reference, and a search. The server serves it at `/docs`.
 */
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { escaped, renderMarkdown, sectionsOf } from './markdown.ts';
import { referencePages } from './reference-pages.ts';

/** The pages of the site by chapter. A name without a folder is a page of `docs/`, and `*` stands for all others there. */
const CHAPTERS: Readonly<Record<string, readonly string[]>> = {
  Start: ['README.md', 'install', 'living-runs', 'integrations', 'inspector', 'errors', 'cli'],
  Guides: ['guide/*', 'jobs', 'subscriptions'],
  'Coming from': ['coming-from/*'],
  Engines: ['operations/engines', 'sqlite', 'postgres', 'redis', 'nats', 'dynamodb'],
  'Server and clients': ['http', 'http-routes', 'security', 'python'],
  Operations: [
    ...[
      'operations/*',
      'monitoring',
      'keeping',
      'archive',
      's3',
      'export',
      'snowflake',
      'erasure',
      'encryption',
      'damage',
      'upgrades',
    ],
  ],
  'API reference': ['reference/*'],
  Internals: [
    ...[
      'ARCHITECTURE.md',
      'conformance-kit',
      'conformance',
      'hash-chain',
      'faults/README.md',
      'rulings',
      'threat-model',
    ],
    'decisions/*',
  ],
};
const PAGES = [
  'README.md',
  'ARCHITECTURE.md',
  'docs/*.md',
  'docs/{guide,operations,coming-from,decisions}/*.md',
  'faults/README.md',
];
const ASSETS = ['docs/*.svg', 'docs/inspector/*.png', 'docs/operations/*.{json,yml}'];
/** The server package serves the site from here. */
export const SITE = join(import.meta.dirname, '../../packages/server/docs');
const OWN_FILES = join(import.meta.dirname, 'assets');

/** Returns the files that the site is built from, apart from the sources of the packages. */
export function siteFiles(root: string): string[] {
  return [...globSync(PAGES, { cwd: root }), ...globSync(ASSETS, { cwd: root })].sort();
}

interface Page {
  path: string;
  title: string;
  text: string;
}

interface Site {
  pages: readonly Page[];
  /** The title of each page's chapter, by path. */
  chapters: ReadonlyMap<string, string>;
  targetOf: (file: string) => string | null;
}

/**
 * Writes the site to a directory and replaces what it held. The new files are moved there
 * once they are complete, so that a server that starts at the same time finds either the old site or the new one. Returns the number of pages.
 */
export function buildSite(root: string, directory: string): number {
  const [fresh, former] = ['new', 'old'].map((name) => `${directory}.${name}-${process.pid}`) as [string, string];
  const pages = writeSite(root, fresh);
  if (existsSync(directory)) renameSync(directory, former);
  renameSync(fresh, directory);
  rmSync(former, { recursive: true, force: true });
  return pages;
}

function writeSite(root: string, directory: string): number {
  const pages = readPages(root);
  const known = new Set(pages.map(({ path }) => path));
  const assets = globSync(ASSETS, { cwd: root });
  const targetOf = (file: string) => (known.has(file) ? htmlPath(file) : assets.includes(file) ? sitePath(file) : null);
  rmSync(directory, { recursive: true, force: true });
  const site = { pages, chapters: chaptersOf([...known]), targetOf };
  for (const page of pages) write(directory, htmlPath(page.path), renderPage(page, site));
  for (const asset of assets) {
    mkdirSync(dirname(join(directory, sitePath(asset))), { recursive: true });
    cpSync(join(root, asset), join(directory, sitePath(asset)));
  }
  cpSync(OWN_FILES, directory, { recursive: true });
  write(directory, 'search-index.js', `window.searchIndex = ${JSON.stringify(pages.flatMap(indexOf))};\n`);
  return pages.length;
}

function readPages(root: string): Page[] {
  const files = globSync(PAGES, { cwd: root }).sort();
  const texts = new Map([
    ...files.map((path) => [path, readFileSync(join(root, path), 'utf8')] as const),
    ...referencePages(root),
  ]);
  return [...texts].map(([path, text]) => ({ path, text, title: /^# (.*)$/m.exec(text)?.[1] ?? path }));
}

/** The path of a file in the site: pages of `docs/` are at the top. */
function sitePath(path: string): string {
  return path.replace(/^docs\//, '');
}

function htmlPath(path: string): string {
  return path === 'README.md' ? 'index.html' : sitePath(path).replace(/\.md$/, '.html');
}

function renderPage(page: Page, { pages, chapters, targetOf }: Site): string {
  const own = htmlPath(page.path);
  const to = (target: string) => relative(dirname(own), target) || target;
  const body = renderMarkdown(page.path, page.text, targetOf).replaceAll(
    /(<img src=")docs\//g,
    (_, start: string) => start + to(''),
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(page.title)} · Tidemark</title>
<link rel="stylesheet" href="${to('site.css')}">
<script defer src="${to('search-index.js')}"></script>
<script defer src="${to('search.js')}"></script>
</head>
<body data-root="${relative(dirname(own), '.') || '.'}">
<nav>
<a class="home" href="${to('index.html')}">Tidemark</a>
<input type="search" placeholder="Search" aria-label="Search the documentation">
<ul class="results" hidden></ul>
${Object.keys(CHAPTERS)
  .map((title) =>
    renderChapter(
      title,
      pages.filter(({ path }) => chapters.get(path) === title),
      page,
      to,
    ),
  )
  .join('\n')}
</nav>
<main>
${body}</main>
</body>
</html>
`;
}

/** Returns the chapter of each page. Throws if a page is in no chapter, or a chapter names a page that does not exist. */
export function chaptersOf(paths: readonly string[], chapters = CHAPTERS): Map<string, string> {
  const found = new Map<string, string>();
  const entries = Object.entries(chapters).flatMap(([title, names]) => names.map((name) => ({ title, name })));
  // A page that is named belongs there, even if another chapter has all pages of its folder.
  const isFolder = ({ name }: { name: string }) => name.endsWith('/*');
  for (const { title, name } of entries.sort((a, b) => Number(isFolder(a)) - Number(isFolder(b)))) {
    const path = name.endsWith('.md') ? name : `docs/${name}.md`;
    const named = paths.filter((it) => it === path || (name.endsWith('/*') && dirname(it) === dirname(path)));
    if (named.length === 0)
      throw new Error(`The chapter ${title} of the documentation names ${name}, which does not exist`);
    for (const it of named) if (!found.has(it)) found.set(it, title);
  }
  const missing = paths.filter((path) => !found.has(path));
  if (missing.length > 0) throw new Error(`No chapter of the documentation has ${missing.join(', ')}`);
  return found;
}

function renderChapter(title: string, pages: readonly Page[], current: Page, to: (target: string) => string): string {
  const links = pages.map((page) => {
    const mark = page === current ? ' aria-current="page"' : '';
    return `<li><a href="${to(htmlPath(page.path))}"${mark}>${escaped(page.title.replaceAll('`', ''))}</a></li>`;
  });
  return `<details${pages.includes(current) ? ' open' : ''}><summary>${title}</summary><ul>${links.join('')}</ul></details>`;
}

function indexOf(page: Page): object[] {
  return sectionsOf(page.text).map(({ title, anchor, text }) => ({
    title,
    page: page.title,
    url: htmlPath(page.path) + (anchor === '' ? '' : `#${anchor}`),
    text,
  }));
}

function write(directory: string, path: string, text: string): void {
  const file = join(directory, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
