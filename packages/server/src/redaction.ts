/**
 * Removes secrets from text before it is shown: keys and tokens by their shape, other values by their names. Every scan
 * reads the text only once, because unauthenticated callers choose the text, and with a backtracking pattern they could
 * block the server.
 */
import { hideUrlSecrets } from '@tidemark/core/engine';

const REDACTED = '[redacted]';
/** The length to which longer texts are cut. */
const MAX_CHARACTERS = 16_384;
const NAME_CHARACTERS = 64;

const WORD_RUN = /[\w.-]+/g;
const TOKEN_START = 'eyJ';
const KEY_START = 'tmk_';
const KEY_ID = /^[0-9a-f]{16}$/;
const WORD = /^\w$/;
const CREDENTIALS = /\b(Bearer|Basic)\s+[^\s"',;]+/gi;

const SECRET_NAMES = /^(authorization|cookie|set-cookie|password|passwd|secret|token|api[-_]?key|claimId|digest)$/i;

/** Returns the text without secrets, cut to a readable length. */
export function redactText(text: string): string {
  const shown = shortened(text);
  return hideUrlSecrets(shown.replace(WORD_RUN, redactRun).replace(CREDENTIALS, `$1 ${REDACTED}`));
}

/**
 * Returns the name of a member or parameter without secrets. It is cut to 64 characters, which is enough because its
 * sender knows the full name.
 */
export function shortName(name: string): string {
  const shown = redactText(name);
  return shown.length > NAME_CHARACTERS ? `${shown.slice(0, NAME_CHARACTERS)}…` : shown;
}

/** Replacer for `JSON.stringify`: shows errors as their stack, and removes secrets by name or shape. */
export function redactMember(name: string, value: unknown): unknown {
  if (value !== null && value !== undefined && SECRET_NAMES.test(name)) return REDACTED;
  if (value instanceof Error) return redactText(stackOf(value));
  return typeof value === 'string' ? redactText(value) : value;
}

/** Cuts a long text at the end of a word, because half a secret would no longer be recognised as a secret. */
function shortened(text: string): string {
  if (text.length <= MAX_CHARACTERS) return text;
  const start = text.slice(0, MAX_CHARACTERS);
  const end = Math.max(start.lastIndexOf(' '), start.lastIndexOf('\n'));
  return `${start.slice(0, Math.max(end, 0))} … (${text.length} characters)`;
}

/**
 * Redacts API keys (`tmk_<16 hex digits>.<secret>`) and tokens (`eyJ….….…`) in a sequence of word characters, dots and
 * dashes.
 */
function redactRun(run: string): string {
  if (!run.includes('.')) return run;
  const token = wordStart(run, TOKEN_START);
  // Everything from the start of a token to the end of the sequence is discarded without further checks.
  const isToken = token >= 0 && run.indexOf('.', token) > token + TOKEN_START.length;
  const head = isToken ? run.slice(0, token) : run;
  return redactKeys(head) + (isToken ? REDACTED : '');
}

function redactKeys(run: string): string {
  if (!run.includes(KEY_START)) return run;
  const shown: string[] = [];
  let from = 0;
  for (let at = run.indexOf(KEY_START); at >= 0; at = run.indexOf(KEY_START, Math.max(at + 1, from))) {
    const dot = at + KEY_START.length + 16;
    if (run[dot] !== '.' || !isWordStart(run, at) || !KEY_ID.test(run.slice(at + KEY_START.length, dot))) continue;
    const next = run.indexOf('.', dot + 1);
    const end = next < 0 ? run.length : next;
    if (end === dot + 1) continue;
    shown.push(run.slice(from, at), REDACTED);
    from = end;
  }
  return from === 0 ? run : shown.join('') + run.slice(from);
}

/** Returns where a string begins at the start of a word, or -1. */
function wordStart(run: string, text: string): number {
  let at = run.indexOf(text);
  while (at >= 0 && !isWordStart(run, at)) at = run.indexOf(text, at + 1);
  return at;
}

function isWordStart(run: string, at: number): boolean {
  return at === 0 || !WORD.test(run[at - 1]!);
}

/** Returns the stack of an error and the stacks of its causes. */
function stackOf(error: Error): string {
  const own = error.stack ?? String(error);
  return error.cause instanceof Error ? `${own}\ncaused by ${stackOf(error.cause)}` : own;
}
