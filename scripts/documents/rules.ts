/**
 * The rules that code, tests and pages cite by id. Each needs an entry in `docs/rulings.md` with the rule, its reason
 * and a note for backend authors.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const RULES_PAGE = 'docs/rulings.md';
const ID = /\b(?:GEN|RUN|KV|AGT|COPY|ADP|UPG)-[1-9]\d*\b/g;
const CITING = ['*.md', '{packages,faults,scripts,docs,bench,examples,clients}/**/*.{ts,tsx,js,sql,lua,py,md}'];
/** Folders in which a citation means that code relies on the rule. */
const CODE = /^(?:packages|faults|clients|bench)\//;
const NOT_BUILT = '*Not built yet.*';
const PARTS = ['**Why.**', '**For a backend author.**'];

/** Folders of built files, by their last name. The site of the documentation quotes pages that cite planned rules. */
const BUILT = /(?:^|\/)(?:node_modules|dist|packages\/server\/(?:docs|docs\.[\w-]+|inspector))$/;
const isBuilt = (path: string) => BUILT.test(path);

/** The files that cite a rule, by its id. */
export type Citations = ReadonlyMap<string, readonly string[]>;

/** Finds every citation in the sources and pages of the repository. */
export function citationsIn(root: string): Citations {
  const files = globSync(CITING, { cwd: root, exclude: isBuilt });
  const citations = new Map<string, string[]>();
  for (const file of files.sort()) {
    for (const id of new Set(readFileSync(join(root, file), 'utf8').match(ID))) {
      const citing = citations.get(id);
      if (citing) citing.push(file);
      else citations.set(id, [file]);
    }
  }
  return citations;
}

/** Returns a sentence for every id without an entry, and for every entry that is incomplete or out of date. */
export function problemsOfRules(page: string, citations: Citations): string[] {
  const [contents = '', ...entries] = page.split(/^### /m);
  const bodies = new Map(entries.map((entry) => [entry.slice(0, entry.indexOf('\n')).trim(), entry]));
  const missing = [...citations].filter(([id]) => !bodies.has(id));
  return [
    ...missing.map(([id, files]) => `${files[0]} cites ${id}, which has no entry in ${RULES_PAGE}`),
    ...(bodies.size === entries.length ? [] : [`${RULES_PAGE} has an id with two entries`]),
    ...[...bodies].flatMap(([id, body]) => problemsOfEntry(id, body, contents, citations.get(id) ?? [])),
  ];
}

function problemsOfEntry(id: string, body: string, contents: string, citing: readonly string[]): string[] {
  const problems: string[] = [];
  if (!contents.includes(`[${id}](#${id.toLowerCase()})`))
    problems.push(`${RULES_PAGE} does not list ${id} in its contents`);
  for (const part of PARTS) if (!body.includes(part)) problems.push(`${RULES_PAGE}: ${id} lacks the part ${part}`);
  const user = body.includes(NOT_BUILT) ? citing.find((file) => CODE.test(file)) : undefined;
  if (user !== undefined) problems.push(`${RULES_PAGE} says that ${id} is not built yet, but ${user} cites it`);
  return problems;
}
