/** Conversion of values between SQL and JavaScript. Integers are read only here (RUN-16). */

/** An integer as a driver returns it. Some drivers return `int8` as text. */
export type SqlInteger = number | string | bigint;

/** Returns the number. Throws if JavaScript cannot represent it exactly. */
export function integerOf(value: SqlInteger): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new Error(`The database gave ${value} where a safe integer was expected`);
  return number;
}

/** Like `integerOf`, for columns that may be NULL. */
export function integerOrNull(value: SqlInteger | null): number | null {
  return value === null ? null : integerOf(value);
}
