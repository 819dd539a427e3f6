/** The query parameter that names a life of a run: a number, or `new` for an append that begins a new life. */

/** Returns the life in the form that an append takes. The store refuses any other text. */
export function lifeOfAppend(text: string): number | 'new' {
  return /^-?\d{1,15}$/.test(text) ? Number(text) : (text as 'new');
}

/** Returns the life in the form that a read takes. The store refuses a string that is not a number. */
export function lifeOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : (lifeOfAppend(text) as number);
}
