/**
 * `npm run docs`: writes the pages that are generated from the code, and the fields that all manifests share. With `--check` it writes nothing and fails when
 * one is out of date.
 */
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { renderCommandsPage } from '@tidemark/cli';
import { renderClausesPage } from '@tidemark/conformance';
import { CALLS, type CallFacts, ERROR_CODES } from '@tidemark/core';
import { openApiDocument } from '@tidemark/server';
import { apiPages } from './api/report.ts';
import { manifestPages } from './packages/manifests.ts';
import { ROOT } from './processes.ts';

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
settled only when the caller passes a \`requestId\`. Without one \`replay\` refuses them with \`INVALID_ARGUMENT\`, since a second write
could overwrite a later write of another client; \`isReplayable(write)\` reports this in advance.

A write contains the arguments of the call, with these exceptions:

- \`signal\`, \`timeoutMs\` and \`onProgress\` belong to one attempt and are left out. \`replay\` has its own.
- An append that joined a \`transaction\` has no \`write\`: only the owner of the transaction can find out whether it was committed.
- The token of a pause is a secret, and a stream can be read once. The write has \`{ withheld: 'token' }\`, \`'chunks'\` or
  \`'parts'\` instead; pass the value again with \`replay(store, write, { withheld: token })\`. Parts of a run in an array are included.
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

interface Operation {
  summary: string;
  'x-scope'?: string;
}

function renderRoutesPage(): string {
  const { paths } = openApiDocument() as { paths: Record<string, Record<string, Operation>> };
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, { summary, 'x-scope': scope }]) =>
        `| \`${method.toUpperCase()}\` | \`${path}\` | ${scope ?? 'open'} | ${summary} |`,
    ),
  );
  return `# HTTP routes

The routes of the server. [http.md](http.md) has the rules common to all of them, and \`/openapi.json\` the parameters, bodies
and problems of each. This page is generated from the code by \`npm run docs\`.

| method | path | scope | description |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}

/** Returns every page by its path. Reports of packages that no longer exist are `null`. */
function renderPages(): Map<string, string | null> {
  return new Map<string, string | null>([
    ...globSync('docs/api/*.api.md', { cwd: ROOT }).map((path) => [path, null] as const),
    ...apiPages(ROOT),
    ...manifestPages(ROOT),
    ...Object.entries(PAGES).map(([path, render]) => [path, render()] as const),
  ]);
}

function writePage(path: string, page: string | null): void {
  const file = join(ROOT, path);
  mkdirSync(dirname(file), { recursive: true });
  if (page === null) rmSync(file);
  else writeFileSync(file, page);
}

const checking = process.argv.includes('--check');
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
