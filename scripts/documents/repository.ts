/** Finds the problems in the current pages of the repository. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brokenLinks, missingPaths, type Page } from './paths.ts';
import { citationsIn, problemsOfRules, RULES_PAGE } from './rules.ts';

/** The changelog is excluded: it names files that existed at the time. */
const PAGES = [
  '{ARCHITECTURE,CONTRIBUTING,README,SECURITY}.md',
  'docs/**/*.md',
  'faults/README.md',
  'packages/*/README.md',
  'clients/*/README.md',
];
/**
 * Pages on which every word that looks like a source file is checked. The tutorial and the guides are excluded, because
 * their readers create the files.
 */
const FULL_PATHS = /^(?:ARCHITECTURE|docs\/(?!living-runs|guide|coming-from).*)\.md$/;

/** Returns a sentence for every path, link and rule that does not exist. */
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
