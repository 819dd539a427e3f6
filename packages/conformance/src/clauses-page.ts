/** The page that maps every clause to the cases that show it. */
import { ALL_CASES } from './cases/index.ts';
import { CLAUSE_GROUPS, type Clause } from './clauses.ts';
import { DOMAINS } from './kit.ts';

/** Markdown: counts, then a table for each document. */
export function renderClausesPage(): string {
  const counts = DOMAINS.map((domain) => `${ALL_CASES.filter((it) => it.domain === domain).length} ${domain}`);
  return [
    '# What the conformance kit shows',
    '',
    `Each clause of the specification and each ruling, and the cases that show it on every store. The kit has ${ALL_CASES.length} cases: ${counts.join(', ')}.`,
    'Run them with `npx tidemark-conformance ./my-store.js#createStore`, or one clause with `--only RUN-4`.',
    'Where no case can show a clause, the last column names the files that do.',
    '',
    ...CLAUSE_GROUPS.flatMap(({ title, clauses }) => [
      `## ${title}`,
      '',
      '| Clause | What it asks | Shown by |',
      '| --- | --- | --- |',
      ...rowsOf(clauses),
      '',
    ]),
  ].join('\n');
}

/** A row for each place, and one for each of its clauses that is shown elsewhere. */
function rowsOf(clauses: readonly Clause[]): string[] {
  const shownHere = Map.groupBy(
    clauses.filter((it) => it.elsewhere === undefined),
    (it) => it.id,
  );
  return clauses.flatMap((clause) => {
    if (clause.elsewhere !== undefined) return [row([clause], clause.elsewhere)];
    const place = shownHere.get(clause.id)!;
    return place[0] === clause ? [row(place, casesFor(clause.id))] : [];
  });
}

function row(clauses: readonly Clause[], shownBy: string): string {
  const asked = clauses.map(({ level, says }) => (level === 'RULING' ? says : `${level}: ${says}`)).join('<br>');
  return `| ${[linked(clauses[0]!), asked, shownBy].map(cell).join(' | ')} |`;
}

/** The id of a ruling leads to its text. */
function linked({ id, level }: Clause): string {
  return level === 'RULING' ? `[${id}](rulings.md#${id.toLowerCase()})` : id;
}

function casesFor(id: string): string {
  return ALL_CASES.filter((it) => it.proves.includes(id))
    .map((it) => `\`${it.id}\``)
    .join(', ');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
