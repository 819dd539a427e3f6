/** What a clause is: one thing the documents or rulings ask for. */

export interface Clause {
  /** Where it stands: `004 §3.2`, `000 save_event`, `RUN-4`. A place with several rules has several clauses. */
  id: string;
  level: 'MUST' | 'MUST NOT' | 'SHOULD' | 'SHOULD NOT' | 'MAY' | 'RULING';
  /** In our own words. */
  says: string;
  /** The files that show it where no case can, in backticks and from the root of the repository. */
  elsewhere?: string;
}

type Rule = [level: Clause['level'], says: string, elsewhere?: string];

/** The clauses of one place. */
export function place(id: string, ...rules: Rule[]): Clause[] {
  return rules.map(([level, says, elsewhere]) => ({
    id,
    level,
    says,
    ...(elsewhere === undefined ? {} : { elsewhere }),
  }));
}
