/** Reads store options from the query of a store's URL, so that they can be set where only a URL can be passed. */
import { invalidArgument } from '../contracts/errors.ts';

/** How the text of an option is parsed. A `list` is separated by commas. */
export type UrlReading = 'text' | 'number' | 'switch' | 'list';

export interface UrlReadings {
  [option: string]: UrlReading;
}

const SWITCHES = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/**
 * Returns the options together with those in the query of their URL. Options set outside the URL take precedence. The
 * returned URL no longer contains the options that were read; the rest of its query stays for the driver.
 *
 * @param driverKnows the names that the driver accepts; without it, any other name may stay in the query
 * @throws `INVALID_ARGUMENT` for a value that cannot be parsed and for a name that is not known.
 */
export function withUrlOptions<Options extends { url: string }>(
  options: Options,
  readings: UrlReadings,
  driverKnows?: readonly string[],
): Options {
  const { url } = options;
  const start = typeof url === 'string' ? url.indexOf('?') : -1;
  if (start === -1) return options;
  const query = new URLSearchParams(url.slice(start + 1));
  const read: Record<string, unknown> = {};
  for (const [name, reading] of Object.entries(readings)) {
    const text = query.get(name);
    if (text !== null) read[name] = readAs(name, text, reading);
    query.delete(name);
  }
  const unknown = driverKnows && [...query.keys()].find((name) => !driverKnows.includes(name));
  if (unknown !== undefined) {
    const known = [...Object.keys(readings), ...driverKnows!].join(', ');
    // Print only plain names: if the password contains a question mark, the "query" is the rest of the password.
    const shown = /^\w{1,32}$/.test(unknown) && query.get(unknown) !== '' && !url.slice(start).includes('@');
    throw invalidArgument('url', `a URL whose query has no other names than ${known}`, shown ? unknown : undefined);
  }
  if (Object.keys(read).length === 0) return options;
  const rest = query.size > 0 ? `?${query}` : '';
  return { ...read, ...options, url: url.slice(0, start) + rest };
}

function readAs(name: string, text: string, reading: UrlReading): unknown {
  if (reading === 'text') return text;
  if (reading === 'list') return text.split(',');
  const value = reading === 'number' ? Number(text.trim() || Number.NaN) : SWITCHES.get(text);
  if (value === undefined || Number.isNaN(value))
    throw invalidArgument(name, reading === 'number' ? 'a number in the URL' : 'true or false in the URL');
  return value;
}
