/** JSON values: pointers, differences and one-line text. */

/** Appends a name to a JSON Pointer (RFC 6901). */
export function pointerStep(path: string, name: string): string {
  return `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Formats a value on one line of at most `most` characters, without serialising the whole value. */
export function shortText(value: unknown, most: number): string {
  const text = write(value, most + 1);
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

function write(value: unknown, most: number): string {
  if (typeof value === 'string') return JSON.stringify(value.length > most ? value.slice(0, most) : value);
  if (value === null || typeof value !== 'object') return String(value);
  let text = '';
  for (const [name, member] of Object.entries(value)) {
    if (text.length > most) break;
    text += `${text === '' ? '' : ', '}${Array.isArray(value) ? '' : `${name}: `}${write(member, most - text.length)}`;
  }
  return Array.isArray(value) ? `[${text}]` : `{${text}}`;
}

export interface Difference {
  path: string;
  /** The previous value; `undefined` if there was none. */
  before: unknown;
  after: unknown;
}

/** Returns every path whose value differs. An object that was added or removed counts as one difference. */
export function differences(before: unknown, after: unknown, path = ''): Difference[] {
  if (before === after) return [];
  if (!isContainer(before) || !isContainer(after) || Array.isArray(before) !== Array.isArray(after))
    return [{ path, before, after }];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => differences(before[name], after[name], pointerStep(path, name)));
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object';
}
