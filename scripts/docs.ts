/**
 * `npm run docs`: writes the pages that are generated from the code, and the fields that all manifests share. With `--check` it writes nothing and fails when
 * one is out of date. With `site` it builds the static site, into the server package or the directory that follows.
 */
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { renderCommandsPage } from '@tidemark/cli';
import { renderClausesPage } from '@tidemark/conformance';
import { CALLS, type CallFacts, ERROR_CODES } from '@tidemark/core';
import { apiPages } from './api/report.ts';
import { renderRoutesPage } from './api/routes-page.ts';
import { manifestPages } from './packages/manifests.ts';
import { ROOT } from './processes.ts';
import { buildSite, SITE } from './site/site.ts';

const PAGES: Record<string, () => string> = {
  'docs/errors.md': renderErrorsPage,
  'docs/conformance.md': renderClausesPage,
  'docs/http-routes.md': renderRoutesPage,
  'docs/cli.md': renderCommandsPage,
};

function renderErrorsPage(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, { retryable, meaning, remedy }]) =>
      `| \`${code}\` | ${retryable ? 'yes' : 'no'} | ${meaning} | ${remedy} |`,
  );
  return `# Errors

Every operation throws a \`TidemarkError\`: \`code\` is stable, \`message\` says what to do, \`retryable\` whether the same call can
succeed later, and \`outcome\` whether anything may have been written. This page is generated from the code by \`npm run docs\`.

| code | retryable | meaning | what to do |
| --- | --- | --- | --- |
${rows.join('\n')}

## A write whose outcome is unknown

An \`OUTCOME_UNKNOWN\` carries the write as \`error.write\`: \`{ domain, method, args, tenantId? }\`, with every id that the first
attempt generated. \`replay\` retries it. However often it is replayed, the write is applied once:

\`\`\`ts
try {
  await store.runs.handle('order-7').append('Progress', { step: 2 });
} catch (error) {
  if (!isTidemarkError(error, 'OUTCOME_UNKNOWN') || !error.write) throw error;
  await replay(store, error.write);
}
\`\`\`

| settled by | writes |
| --- | --- |
| Its own keys, ids or content. The replay returns the result of the first attempt. | ${settledBy('itself')} |
| The stored state. The replay changes nothing more and returns a result for that state: \`deleteRun\` returns false when the first attempt deleted the run. | ${settledBy('state')} |
| Its \`requestId\` | ${settledBy('requestId')} |
| Its \`claimId\` | ${settledBy('claimId')} |

Stores generate missing request and claim ids of jobs, pauses and memory themselves, and the error carries them. KV writes are
settled only when the caller passes a \`requestId\`. Without one \`replay\` rejects them with \`INVALID_ARGUMENT\`, since a second write
could overwrite a later write of another client; \`isReplayable(write)\` reports this in advance.

A write contains the arguments of the call, with these exceptions:

- \`signal\`, \`timeoutMs\` and \`onProgress\` belong to one attempt and are left out. \`replay\` has its own.
- An append that joined a \`transaction\` has no \`write\`: only the owner of the transaction can find out whether it was committed.
- The token of a pause is a secret, and a stream can be read once. The write has \`{ withheld: 'token' }\`, \`'chunks'\` or
  \`'parts'\` instead; pass the value again with \`replay(store, write, { withheld: token })\`. An array of run parts is part of the write.
- Bytes, big integers and projections are included as they are. A write with one of them is not plain JSON; all others can
  be stored as JSON and replayed by another process.

A write on a tenant view names the tenant as \`tenantId\`, and \`replay\` uses that view.
`;
}

/** Returns the names of the writes that are settled in one way. */
function settledBy(way: string): string {
  const names = Object.entries(CALLS).flatMap(([domain, calls]) =>
    Object.entries<CallFacts>(calls)
      .filter(([, facts]) => facts.kind === 'write' && facts.settledBy === way)
      .map(([method]) => `\`${domain}.${method}\``),
  );
  return names.join(', ');
}

/** Returns the overview of the documentation for language models: every page with its title and first sentence. */
function renderOverview(): string {
  const readme = describePage('README.md');
  const pages = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];
  const guides = globSync('docs/{,guide/,operations/,coming-from/}*.md', { cwd: ROOT }).sort();
  const packages = globSync('packages/*/README.md', { cwd: ROOT }).sort();
  const section = (title: string, paths: string[]) =>
    [`## ${title}`, '', ...paths.map((path) => linkTo(path)), ''].join('\n');
  return [
    `# ${readme.title}\n\n> ${readme.summary}\n`,
    section('Documentation', ['README.md', ...guides]),
    section('Packages', packages),
    section('Optional', [...pages, ...globSync('docs/decisions/*.md', { cwd: ROOT }).sort()]),
  ].join('\n');
}

function linkTo(path: string): string {
  const { title, summary } = describePage(path);
  return `- [${title}](${path})${summary && `: ${summary}`}`;
}

/** Returns the heading of a page and the first sentence of its first paragraph, if it begins with one. */
function describePage(path: string): { title: string; summary: string } {
  const text = (PAGES[path]?.() ?? readFileSync(join(ROOT, path), 'utf8')).trim();
  const [heading = '', first = ''] = text.split('\n\n');
  const prose = /^(?:[A-Z]|`(?!`))/.test(first)
    ? first.replaceAll('\n', ' ').replace(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    : '';
  const [sentence = prose] = /^.*?[.:](?= |$)/.exec(prose) ?? [];
  return { title: heading.replace(/^# /, ''), summary: sentence.replace(/:$/, '.') };
}

/** Returns every page by its path. Reports of packages that no longer exist are `null`. */
function renderPages(): Map<string, string | null> {
  return new Map<string, string | null>([
    ...globSync('docs/api/*.api.md', { cwd: ROOT }).map((path) => [path, null] as const),
    ...apiPages(ROOT),
    ...manifestPages(ROOT),
    ...Object.entries(PAGES).map(([path, render]) => [path, render()] as const),
    ['llms.txt', renderOverview()],
  ]);
}

function writePage(path: string, page: string | null): void {
  const file = join(ROOT, path);
  mkdirSync(dirname(file), { recursive: true });
  if (page === null) rmSync(file);
  else writeFileSync(file, page);
}

const checking = process.argv.includes('--check');
if (process.argv[2] === 'site') {
  const directory = process.argv[3] ?? SITE;
  console.log(`wrote ${buildSite(ROOT, directory)} pages to ${directory}`);
} else writeOrCheckPages();

function writeOrCheckPages(): void {
  for (const [path, page] of renderPages()) {
    const file = join(ROOT, path);
    if (!checking) {
      writePage(path, page);
      console.log(`${page === null ? 'removed' : 'wrote'} ${path}`);
    } else if (page === null || !existsSync(file) || readFileSync(file, 'utf8') !== page) {
      console.error(`${path} is out of date: run npm run docs`);
      process.exitCode = 1;
    }
  }
}
