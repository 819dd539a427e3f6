/** The form of commit subjects: `area: imperative subject`, at most 72 characters, without a full stop at the end. */

/** Checks apply to the commits after this one. */
export const BASE = '640eefc';
const MAX_CHARACTERS = 72;
/** One or more areas, as in `core:` or `postgres, redis:`. */
const FORM = /^[a-z0-9][a-z0-9 ,/.-]{0,40}: \S/;

export interface Commit {
  hash: string;
  subject: string;
}

/** Returns a sentence for each problem with the subject of a commit. */
export function subjectProblems({ hash, subject }: Commit): string[] {
  const problems: string[] = [];
  const length = [...subject].length;
  if (length > MAX_CHARACTERS) problems.push(`has ${length} characters; the most is ${MAX_CHARACTERS}`);
  if (!FORM.test(subject)) problems.push('is not of the form "area: subject"');
  if (subject.endsWith('.')) problems.push('ends with a full stop');
  return problems.map((problem) => `${hash} "${subject}" ${problem}`);
}

/** Parses lines of a hash, a space and a subject, as `git log --format='%h %s'` prints them. */
export function parseCommits(log: string): Commit[] {
  return log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({ hash: line.slice(0, line.indexOf(' ')), subject: line.slice(line.indexOf(' ') + 1) }));
}
