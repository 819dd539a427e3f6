/** `npm run docs`: writes the pages that are made from the code. With `--check` it writes nothing and fails when one is out of date. */
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { renderCommandsPage } from '@tidemark/cli';
import { renderClausesPage } from '@tidemark/conformance';
import { CALLS, type CallFacts, ERROR_CODES } from '@tidemark/core';
import { openApiDocument } from '@tidemark/server';
import { apiPages } from './api/report.ts';
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
succeed later, and \`outcome\` whether anything may have been written. This page is made from the code by \`npm run docs\`.

| code | retryable | what it means | what to do |
| --- | --- | --- | --- |
${rows.join('\n')}

## A write whose outcome is unknown

An \`OUTCOME_UNKNOWN\` carries the write as \`error.write\`: \`{ domain, method, args, tenantId? }\`, with every id that the first
attempt made for itself. \`replay\` sends it again. However often it is replayed, the write is carried out once:

\`\`\`ts
try {
  await store.runs.handle('order-7').append('Progress', { step: 2 });
} catch (error) {
  if (!isTidemarkError(error, 'OUTCOME_UNKNOWN') || !error.write) throw error;
  await replay(store, error.write);
}
\`\`\`

| what settles the write | writes |
| --- | --- |
| Its own keys, ids or content. The replay returns what the first attempt would have returned. | ${settledBy('itself')} |
| What is stored. The replay changes nothing more and answers with what it finds: \`deleteRun\` returns false when the first attempt deleted the run. | ${settledBy('state')} |
| Its \`requestId\` | ${settledBy('requestId')} |
| Its \`claimId\` | ${settledBy('claimId')} |

Stores make missing request and claim ids of jobs, pauses and memory themselves, and the error carries them. Writes of kv are
settled only when the caller gives a \`requestId\`. Without one \`replay\` refuses them with \`INVALID_ARGUMENT\`, since a second write
could undo what somebody else has written meanwhile; \`isReplayable(write)\` tells in advance.

A write holds the arguments of the call, with these exceptions:

- \`signal\`, \`timeoutMs\` and \`onProgress\` belong to one attempt and are left out. \`replay\` takes its own.
- An append that joined a \`transaction\` has no \`write\`: only the owner of the transaction can find out what became of it.
- The token of a pause is a secret, and a stream can be read once. In their place is \`{ withheld: 'token' }\`, \`'chunks'\` or
  \`'parts'\`; \`replay(store, write, { withheld: token })\` is given them. Parts of a run that are an array are carried.
- Bytes and big integers stay what they are, and projections stay what \`defineProjection\` returned. A write with one of them is not plain JSON; all others can
  be stored as JSON and replayed by another process.

A write that was made on the view of a tenant names it as \`tenantId\`, and \`replay\` uses that view.
`;
}

/** The names of the writes that are settled in one way. */
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

What the server answers to; [http.md](http.md) has the rules that hold for all of them, and \`/openapi.json\` the parameters, bodies
and problems of each. This page is made from the code by \`npm run docs\`.

| method | path | scope | what it does |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}

/** Returns every page by its path. Reports of packages that no longer exist are `null`. */
function renderPages(): Map<string, string | null> {
  return new Map<string, string | null>([
    ...globSync('docs/api/*.api.md', { cwd: ROOT }).map((path) => [path, null] as const),
    ...apiPages(ROOT),
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
