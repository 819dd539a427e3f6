/**
 * Phrases that comments and pages avoid, each with the plain words to write instead. The list is deliberately short: a
 * phrase belongs here only if nearly every use of it is worth rewriting. Text between backticks is code and is never
 * matched.
 */

export interface Phrase {
  /** Matched against passages on one line with single spaces. Takes linear time, which a test checks. */
  pattern: RegExp;
  /** `doc`: only in TSDoc and docstrings. */
  in?: 'doc';
  /** The words to write instead. */
  write: string;
}

export const PHRASES: readonly Phrase[] = [
  { pattern: /\bmend(?:s|ed|ing)?\b/i, write: 'fix, repair' },
  {
    pattern: /\b(?:hears?|heard)\b/i,
    write: 'fails with, rejects with (errors); receives, is notified of (events)',
  },
  { pattern: /\b(?:has|have|had) (?:had )?(?:its|their) say\b/i, write: 'resolves when, is settled' },
  {
    pattern: /\b(?:that|which|what) (?:is|are|was|were) none\b(?! of\b)/i,
    write: 'not configured, absent, missing, invalid',
  },
  {
    pattern: /\b(?:that|which|what|it) (?:is|are|was|were) no (?!longer\b|more\b|less\b|other\b)\w/i,
    write: 'is not a …, is not …',
  },
  { pattern: /\bg(?:ives?|ave|iven|iving) way\b/i, write: 'is evicted, is aborted, is replaced by' },
  {
    pattern: /\b(?:is|are|was|were|be|been|being) told\b(?! (?:apart|from)\b)/i,
    write: 'fails with (errors), receives, is notified of; an option is set or passed',
  },
  { pattern: /\bs(?:ent|ends?|ending) again\b/i, write: 'retried, on retry, retries, the same request id' },
  { pattern: /\bhand(?:s|ed|ing)? out\b/i, write: 'returns, yields, issues' },
  { pattern: /\bwhoever\b/i, write: 'name the subject: the caller, a client, a worker, a process that …' },
  {
    pattern: /(?:^|[.;:] )(?:What|Whatever) (?![^.?]{0,200}\?)/,
    write: 'name the subject: "Blob metadata." and not "What is known of a blob."',
  },
  {
    pattern: /(?:^|[.;:] )(?:One|Those|That) (?:that|which|who)\b/,
    write: 'name the subject: "A claimed pause is skipped" and not "One that is claimed …"',
  },
  { pattern: /^(?:Tells?|Gives?|Hands?|Says?)\b/, in: 'doc', write: 'Returns, Reports, Notifies, Passes' },
  { pattern: /\b(?:gives?|tells?) (?:how|whether|what|which|why)\b/i, write: 'returns, reports, shows' },
  { pattern: /\b(?:has|have) come\b(?! between\b)/i, write: 'is due, has arrived, is already stored' },
  {
    pattern: /\bend(?:s|ed|ing)?(?: (?:a|the|its))?(?: (?:jobs?|runs?|it))? (?:well|badly)\b/i,
    write: 'complete the job, fail the job',
  },
  { pattern: /\banew\b|\bonce more\b/i, write: 'again' },
  { pattern: /\bmeanwhile\b/i, in: 'doc', write: 'at the same time, in the meantime, since then' },
  { pattern: /\b(?:comes?|came|coming) between\b/i, write: 'name the event: "if another write was committed first"' },
  { pattern: /\bnobody else\b/i, write: 'no other caller, no other process' },
  { pattern: /\b(?:is|are|was|were|been) seen to\b/i, write: 'is found to, has (been) …' },
  { pattern: /\bbehind (?:its|their|the \w+[’']s) back\b/i, write: 'directly, without the store' },
  { pattern: /\bmade-up\b/i, write: 'invented, invalid, fake' },
  { pattern: /\bstrangers?\b/i, write: 'anonymous or unauthenticated callers' },
  { pattern: /\briddles?\b/i, write: 'say what is unclear' },
  { pattern: /\bcarr(?:y|ies|ied|ying) out\b/i, write: 'execute, apply' },
  { pattern: /\b(?:say|says|said) otherwise\b/i, write: 'by default, unless … is set' },
  { pattern: /\bat hand\b/i, write: 'available' },
  { pattern: /\bnever meets?\b/i, write: 'never collide, are separate' },
  {
    pattern: /\bthe (?:call|checkpoint|event|item|message|one|page|step|write) before(?=[.,;:)]|$| is\b| are\b)/i,
    write: 'the previous …',
  },
];
