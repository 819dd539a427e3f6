/** The pages of the repository refer only to existing files, and the checks detect each kind of mistake. */
import { describe, expect, it } from 'vitest';
import { ROOT } from '../processes.ts';
import { anchorsOf } from './markdown.ts';
import { brokenLinks, missingPaths } from './paths.ts';
import { problemsOfDocuments } from './repository.ts';
import { problemsOfRules } from './rules.ts';

const page = (text: string) => ({ path: 'docs/page.md', text });
/** Assembled here, because otherwise the page of rules would need an entry for it. */
const UNKNOWN = `RUN-${99}`;

describe('the pages of the repository', () => {
  it('refer only to existing paths, links and rules', () => {
    expect(problemsOfDocuments(ROOT)).toEqual([]);
  });
});

describe('paths', () => {
  it.each([
    ['a file', '`packages/core/src/store.ts`'],
    ['a folder', '`docs/decisions/`'],
    ['a script without its ending', '`node scripts/run.js faults/kill --rounds 200`'],
    ['a pattern', '`packages/*/package.json`'],
    ['a name that stands for any', '`packages/<engine>/package.json`'],
    ['several names', '`packages/core/src/{store,portable}.ts`'],
    ['a fenced block', '```\npackages/core/src/store.ts\n```'],
    ['a file of the reader’s own', '`./my-store.js`'],
  ])('are found: %s', (_, text) => {
    expect(missingPaths(ROOT, page(text))).toEqual([]);
  });

  it.each([
    ['a file', '`packages/core/src/stores.ts`'],
    ['a file in a sentence of code', '`node scripts/run.js faults/kills`'],
    ['a pattern', '`packages/*/package.yaml`'],
    ['one of several names', '`packages/core/src/{store,contexts}.ts`'],
    ['a file after a line break in code', '`npm test --\npackages/core/src/stores.ts`'],
    ['a file in a fenced block', '```\npackages/core/src/stores.ts\n```'],
  ])('are missed: %s', (_, text) => {
    expect(missingPaths(ROOT, page(text))).toHaveLength(1);
  });

  it('include all words that look like source files, on pages with full paths', () => {
    expect(missingPaths(ROOT, page('`runs/append.ts`'))).toEqual([]);
    expect(missingPaths(ROOT, page('`runs/append.ts`'), true)).toHaveLength(1);
    expect(missingPaths(ROOT, page('`./my-store.js`'), true)).toEqual([]);
  });
});

describe('links', () => {
  it('lead to files and headings; other sites are not checked', () => {
    const text = '# A page\n[a](#a-page) [b](http.md) [c](../README.md#features) [d](https://example.com/x.md)';
    expect(brokenLinks(ROOT, { path: 'docs/errors.md', text: text.replace('#a-page', '#errors') })).toEqual([]);
  });

  it('are broken when the file or the heading does not exist', () => {
    expect(brokenLinks(ROOT, page('[a](missing.md)'))).toHaveLength(1);
    expect(brokenLinks(ROOT, page('[a](http.md#no-such-heading)'))).toHaveLength(1);
  });

  it('reach headings by the anchors that GitHub generates', () => {
    const text = '# One `word`, two\n## Twice\n## Twice\n```\n# in code\n```\n### RUN-4';
    expect([...anchorsOf(text)]).toEqual(['one-word-two', 'twice', 'twice-1', 'run-4']);
  });
});

describe('rules', () => {
  const entry = '### RUN-4\nA rule. **Why.** So. **For a backend author.** Do.\n';
  const contents = '# Rules\n[RUN-4](#run-4)\n\n';

  it('are complete if each cited id has an entry in the list, with a reason and a note for backend authors', () => {
    expect(problemsOfRules(contents + entry, new Map([['RUN-4', ['packages/a.ts']]]))).toEqual([]);
  });

  it.each([
    ['a cited id without an entry', contents + entry, UNKNOWN],
    ['an entry that the contents do not list', `# Rules\n\n${entry}`, 'RUN-4'],
    ['an entry without a reason', contents + entry.replace('**Why.**', ''), 'RUN-4'],
    ['an entry without a note for backend authors', contents + entry.replace('**For a backend author.**', ''), 'RUN-4'],
    ['two entries of one id', contents + entry + entry, 'RUN-4'],
    ['an entry that is not built yet but is cited by code', `${contents}${entry}*Not built yet.*`, 'RUN-4'],
  ])('are not: %s', (_, text, cited) => {
    expect(problemsOfRules(text, new Map([[cited, ['packages/a.ts']]]))).toHaveLength(1);
  });
});
