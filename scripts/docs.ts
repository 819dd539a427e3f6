/** `npm run docs`: writes the pages that are made from the code; `--check` only tells whether they are up to date. */
import { readFileSync, writeFileSync } from 'node:fs';
import { renderCommandsPage } from '@tidemark/cli';
import { renderClausesPage } from '@tidemark/conformance';
import { ERROR_CODES } from '@tidemark/core';
import { openApiDocument } from '@tidemark/server';

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
`;
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

const checking = process.argv.includes('--check');
for (const [path, render] of Object.entries(PAGES)) {
  const file = new URL(`../${path}`, import.meta.url);
  const page = render();
  if (!checking) {
    writeFileSync(file, page);
    console.log(`wrote ${path}`);
  } else if (readFileSync(file, 'utf8') !== page) {
    console.error(`${path} is out of date: run npm run docs`);
    process.exitCode = 1;
  }
}
