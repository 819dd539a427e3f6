/** Renders the page that maps every clause to the cases that prove it. */
import { ALL_CASES } from './cases/index.ts';
import { CLAUSE_GROUPS, type Clause } from './clauses.ts';
import { DOMAINS } from './kit.ts';

/** Returns Markdown: the counts, then a table for each document. */
export function renderClausesPage(): string {
  const counts = DOMAINS.map((domain) => `${ALL_CASES.filter((it) => it.domain === domain).length} ${domain}`);
  return [
    '# What the conformance kit proves',
    '',
    `Each clause of the specification and each ruling, with the cases that prove it on every store. The kit has ${ALL_CASES.length} cases: ${counts.join(', ')}.`,
    'Run them with `npx tidemark-conformance ./my-store.js#createStore`, or one clause with `--only RUN-4`.',
    'Where no case can prove a clause, the last column names the files that do.',
    '',
    ...CLAUSE_GROUPS.flatMap(({ title, clauses }) => [
      `## ${title}`,
      '',
      '| Clause | Requirement | Proved by |',
      '| --- | --- | --- |',
      ...tableRows(clauses),
      '',
    ]),
  ].join('\n');
}

/** Returns a row for each section, and a row for each clause that a file proves instead of a case. */
function tableRows(clauses: readonly Clause[]): string[] {
  const byCases = Map.groupBy(
    clauses.filter((it) => it.elsewhere === undefined),
    (it) => it.id,
  );
  return clauses.flatMap((clause) => {
    if (clause.elsewhere !== undefined) return [row([clause], clause.elsewhere)];
    const section = byCases.get(clause.id)!;
    return section[0] === clause ? [row(section, casesFor(clause.id))] : [];
  });
}

function row(clauses: readonly Clause[], provedBy: string): string {
  const asked = clauses.map(({ level, says }) => (level === 'RULING' ? says : `${level}: ${says}`)).join('<br>');
  return `| ${[linked(clauses[0]!), asked, provedBy].map(cell).join(' | ')} |`;
}

/** Links the id of a ruling to its text. */
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
