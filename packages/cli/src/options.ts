/** The kinds of options and arguments that a command can declare, with their types. */
import { invalidArgument } from '@tidemark/core';
import { checkDuration } from '@tidemark/core/engine';

/** An option of a command; `T` is the type of its value. */
export interface Option<T> {
  summary: string;
  /** The name of the option's value in the help. Absent for a switch. */
  value?: string;
  short?: string;
  choices?: readonly string[];
  /** Whether the option may be given several times. */
  repeats?: boolean;
  isRequired?: boolean;
  /** Parses the value from the given texts: one, or several for a repeatable option. */
  read(texts: readonly string[], flag: string): T;
}

type Options = Record<string, Option<unknown>>;
type ValueOf<O> = O extends Option<infer T> ? T : never;
export type OptionValues<O extends Options> = { [K in keyof O]: ValueOf<O[K]> };

/** A positional argument. */
export interface Positional<T> {
  summary: string;
  kind: 'one' | 'maybe' | 'many';
  /** Never set. Exists only to carry the type. */
  type?: T;
}

type Positionals = Record<string, Positional<unknown>>;
export type PositionalValues<P extends Positionals> = {
  [K in keyof P]: P[K] extends Positional<infer T> ? T : never;
};

export const one = (summary: string): Positional<string> => ({ summary, kind: 'one' });
export const maybe = (summary: string): Positional<string | undefined> => ({ summary, kind: 'maybe' });
export const many = (summary: string): Positional<string[]> => ({ summary, kind: 'many' });

export function toggle(summary: string, short?: string): Option<boolean> {
  return { summary, ...(short === undefined ? {} : { short }), read: (texts) => texts.length > 0 };
}

function single<T>(value: string, summary: string, read: (text: string, flag: string) => T): Option<T | undefined> {
  return { summary, value, read: (texts, flag) => (texts.length === 0 ? undefined : read(texts.at(-1)!, flag)) };
}

export function text(value: string, summary: string): Option<string | undefined> {
  return single(value, summary, (it) => it);
}

export function texts(value: string, summary: string): Option<string[]> {
  return { summary, value, repeats: true, read: (given) => [...given] };
}

export function integer(value: string, summary: string, min = 0): Option<number | undefined> {
  return single(value, summary, (it, flag) => {
    const number = Number(it);
    if (/^-?\d+$/.test(it) && Number.isSafeInteger(number) && number >= min) return number;
    throw invalidArgument(flag, `an integer of at least ${min}`, it);
  });
}

/** Seconds, with an optional fraction. */
export function seconds(value: string, summary: string): Option<number | undefined> {
  return single(value, summary, (it, flag) => {
    const number = Number(it);
    if (/^\d+(\.\d+)?$/.test(it) && number <= 3_600) return number;
    throw invalidArgument(flag, 'seconds from 0 to 3600', it);
  });
}

/** Milliseconds, parsed from a string such as `90s`. */
export function duration(value: string, summary: string): Option<number | undefined> {
  return single(value, summary, (it, flag) => checkDuration(it, flag));
}

/** A time as RFC 3339 UTC. The option accepts a time, or a duration before the current time. */
export function moment(value: string, summary: string): Option<string | undefined> {
  return single(value, summary, (it, flag) => {
    if (/^\d+(ms|s|m|h|d)$/.test(it)) return new Date(Date.now() - checkDuration(it, flag)).toISOString();
    const time = Date.parse(it);
    if (Number.isNaN(time))
      throw invalidArgument(flag, 'a time such as 2026-02-16T09:30:00Z, or how long ago: 90s, 2h, 7d', it);
    return new Date(time).toISOString();
  });
}

export function choice<const T extends string>(choices: readonly T[], summary: string): Option<T | undefined> {
  return { ...single(choices.join('|'), summary, (it, flag) => chosen(it, flag, choices)), choices };
}

export function choicesOf<const T extends string>(choices: readonly T[], value: string, summary: string): Option<T[]> {
  const read = (given: readonly string[], flag: string) =>
    given.flatMap((it) => it.split(',')).map((it) => chosen(it, flag, choices));
  return { summary, value, choices, repeats: true, read };
}

function chosen<T extends string>(given: string, flag: string, choices: readonly T[]): T {
  const found = choices.find((it) => it.toLowerCase() === given.toLowerCase());
  if (found === undefined) throw invalidArgument(flag, `one of ${choices.join(', ')}`, given);
  return found;
}

/** Adds a default value to an option. */
export function withDefault<T>(option: Option<T | undefined>, fallback: T, shown = `${fallback}`): Option<T> {
  return {
    ...option,
    summary: shown === '' ? option.summary : `${option.summary} (default ${shown})`,
    read: (given, flag) => option.read(given, flag) ?? fallback,
  };
}

/** Makes an option required. */
export function required<T>(option: Option<T | undefined>): Option<T> {
  return {
    ...option,
    isRequired: true,
    read(given, flag) {
      const value = option.read(given, flag);
      if (value === undefined) throw invalidArgument(flag, 'given');
      return value;
    },
  };
}

/** A repeatable option of `name=value` pairs. */
export function pairs(summary: string): Option<Record<string, string>> {
  return {
    summary,
    value: 'name=value',
    repeats: true,
    read: (given, flag) => Object.fromEntries(given.map((it) => parsePair(it, flag))),
  };
}

export function parsePair(given: string, field: string): [string, string] {
  const at = given.indexOf('=');
  if (at < 1) throw invalidArgument(field, 'name=value', given);
  return [given.slice(0, at), given.slice(at + 1)];
}
