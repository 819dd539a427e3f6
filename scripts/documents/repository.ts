/** What is wrong in the pages of the repository as they are now. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brokenLinks, missingPaths, type Page } from './paths.ts';
import { citationsIn, problemsOfRules, RULES_PAGE } from './rules.ts';

/** The changelog is left out: it names what was there at the time. */
const PAGES = [
  '{ARCHITECTURE,CONTRIBUTING,README,SECURITY}.md',
  'docs/**/*.md',
  'faults/README.md',
  'packages/*/README.md',
  'clients/*/README.md',
];
/** Pages on which every word that ends like a source file is checked; the reader of the tutorial writes its files. */
const FULL_PATHS = /^(?:ARCHITECTURE|docs\/(?!living-runs).*)\.md$/;

/** Returns a sentence for every path, link and rule that leads nowhere. */
export function problemsOfDocuments(root: string): string[] {
  const pages: Page[] = globSync(PAGES, { cwd: root })
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
  const rules = pages.find(({ path }) => path === RULES_PAGE)?.text ?? '';
  return [
    ...pages.flatMap((page) => missingPaths(root, page, FULL_PATHS.test(page.path))),
    ...pages.flatMap((page) => brokenLinks(root, page)),
    ...problemsOfRules(rules, citationsIn(root)),
  ];
}
