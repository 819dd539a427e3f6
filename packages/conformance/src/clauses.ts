/**
 * Every clause of the five documents and every ruling: the kit proves it, or the clause refers to the test that does.
 */
import { DOCUMENT_000 } from './clauses/agent-document.ts';
import type { Clause } from './clauses/clause.ts';
import { DOCUMENT_003 } from './clauses/kv-document.ts';
import { RULINGS } from './clauses/rulings.ts';
import { DOCUMENT_001, DOCUMENT_002, DOCUMENT_004 } from './clauses/run-documents.ts';

export type { Clause } from './clauses/clause.ts';

/** Clauses by document, in reading order. */
export const CLAUSE_GROUPS: readonly { title: string; clauses: readonly Clause[] }[] = [
  { title: 'Document 004: run contract 2.0.0', clauses: DOCUMENT_004 },
  { title: 'Document 001: run contract 1.0', clauses: DOCUMENT_001 },
  { title: 'Document 002: Postgres guide', clauses: DOCUMENT_002 },
  { title: 'Document 003: KV', clauses: DOCUMENT_003 },
  { title: 'Document 000: agents and artifacts', clauses: DOCUMENT_000 },
  { title: 'Rulings', clauses: RULINGS },
];

export const CLAUSES: readonly Clause[] = CLAUSE_GROUPS.flatMap((it) => it.clauses);
