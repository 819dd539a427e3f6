/** Takes secrets out of what is about to be shown: keys and tokens by their shape, other values by the names they go by. */
import { hideUrlSecrets } from '@tidemark/core/engine';

const REDACTED = '[redacted]';

/** All of them bounded: a text that is made for it could keep an unbounded one busy. */
const SHAPES: readonly (readonly [RegExp, string])[] = [
  [/\btmk_[0-9a-f]{16}\.[\w-]+/g, REDACTED],
  [/\beyJ[\w-]{1,4000}\.[\w-]{0,8000}\.[\w-]{0,4000}/g, REDACTED],
  [/\b(Bearer|Basic)\s+[^\s"',;]+/gi, `$1 ${REDACTED}`],
];

const SECRET_NAMES = /^(authorization|cookie|set-cookie|password|passwd|secret|token|api[-_]?key|claimId|digest)$/i;

/** A text without secrets. */
export function redactText(text: string): string {
  return hideUrlSecrets(SHAPES.reduce((shown, [shape, instead]) => shown.replace(shape, instead), text));
}

/** For `JSON.stringify`: errors as their stack, secrets by name or by shape left out. */
export function redactMember(name: string, value: unknown): unknown {
  if (value !== null && value !== undefined && SECRET_NAMES.test(name)) return REDACTED;
  if (value instanceof Error) return redactText(stackOf(value));
  return typeof value === 'string' ? redactText(value) : value;
}

/** With what caused it, and that with its cause. */
function stackOf(error: Error): string {
  const own = error.stack ?? String(error);
  return error.cause instanceof Error ? `${own}\ncaused by ${stackOf(error.cause)}` : own;
}
