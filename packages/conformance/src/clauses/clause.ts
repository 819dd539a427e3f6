/** A clause: one requirement of the documents or rulings. */

export interface Clause {
  /**
   * The section it belongs to: `004 §3.2`, `000 save_event`, `RUN-4`. A section with several rules has several clauses.
   */
  id: string;
  level: 'MUST' | 'MUST NOT' | 'SHOULD' | 'SHOULD NOT' | 'MAY' | 'RULING';
  /** The rule in our own words. */
  says: string;
  /** The files that prove it when no case can, in backticks and relative to the root of the repository. */
  elsewhere?: string;
}

type Rule = [level: Clause['level'], says: string, elsewhere?: string];

/** Returns the clauses of one section. */
export function section(id: string, ...rules: Rule[]): Clause[] {
  return rules.map(([level, says, elsewhere]) => ({
    id,
    level,
    says,
    ...(elsewhere === undefined ? {} : { elsewhere }),
  }));
}
