/** Values on their way between SQL and JavaScript; whole numbers are read here and nowhere else (RUN-16). */

/** A whole number as a driver gives it: `int8` comes as text from some of them. */
export type SqlInteger = number | string | bigint;

/** The number, which must be one that JavaScript holds exactly. */
export function integerOf(value: SqlInteger): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new Error(`The database gave ${value} where a safe integer was expected`);
  return number;
}

/** The same for columns that may be NULL. */
export function integerOrNull(value: SqlInteger | null): number | null {
  return value === null ? null : integerOf(value);
}
