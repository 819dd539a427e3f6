/**
 * Decides which parts of a store's URL may be shown. It shows only parts that it recognises as harmless: a password may
 * be in the user part, the query, a second host or a malformed URL, and may contain any character.
 */
import { invalidArgument, TidemarkError } from './errors.ts';

const HIDDEN = '***';

const KNOWN_SCHEME =
  /^(memory|sqlite|file|postgres|postgresql|redis|rediss|valkey|nats|dynamodb|s3|tls|ws|wss|http|https):/i;
/** Schemes whose URLs name files, without user and host. */
const FILE_SCHEMES = new Set(['memory', 'sqlite', 'file']);
const MAX_SCHEME = 20;
const SCHEME_CHARACTER = /^[a-z0-9+.-]$/i;

/** Options that describe the layout of a store and are never credentials. */
const HARMLESS_OPTIONS = new Set([
  'schema',
  'prefix',
  'partitions',
  'rowLevelSecurity',
  'payloadIndex',
  'maxConnections',
  'connectionTimeoutMs',
  'migrate',
  'sslmode',
  'buckets',
  'cluster',
  'waitReplicas',
  'waitReplicasMs',
  'replicas',
  'shards',
  'createTables',
  'requestTimeoutMs',
  'region',
  'pathStyle',
  'encryption',
  'storageClass',
]);
const HARMLESS_VALUE = /^[\w.-]{1,64}$/;
const HOST = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{0,253})(:\d{1,5})?$/i;
const PATH = /^(\/[\w.~%+:-]{0,512}){0,40}$/;

/**
 * Returns a store's URL without its secrets, to print, log or put into an error. Shows scheme, hosts, path and harmless
 * options, and replaces everything else with `***`.
 *
 * @example
 * console.log(shownUrl('postgres://ada:secret@db/app?schema=state')); // postgres://***@db/app?schema=state
 */
export function shownUrl(url: string): string {
  const scheme = KNOWN_SCHEME.exec(url)?.[1]?.toLowerCase();
  return scheme === undefined ? HIDDEN : shown(scheme, url.slice(scheme.length + 1));
}

function shown(scheme: string, rest: string): string {
  const cut = rest.search(/[?#]/);
  const [head, tail] = cut < 0 ? [rest, ''] : [rest.slice(0, cut), rest.slice(cut)];
  if (FILE_SCHEMES.has(scheme)) return `${scheme}:${shownFile(head)}${shownOptions(tail)}`;
  // Either the password contains a question mark or a value contains an at sign, so the end of the password is unknown.
  if (tail.includes('@')) return `${scheme}://${HIDDEN}`;
  return `${scheme}://${shownServers(head)}${shownOptions(tail)}`;
}

/** Creates an `INVALID_ARGUMENT` error for a store's URL, which it shows without secrets. */
export function invalidUrl(rule: string, url: unknown): TidemarkError {
  if (typeof url !== 'string') return invalidArgument('url', rule, url ?? null);
  const shown = shownUrl(url);
  const message = `url must be ${rule}, not ${JSON.stringify(shown.length > 60 ? `${shown.slice(0, 60)}…` : shown)}`;
  return new TidemarkError('INVALID_ARGUMENT', message, { field: 'url', rule });
}

/** Returns whether a URL has parts that are not shown. */
export function holdsSecret(url: string): boolean {
  return shownUrl(url).includes(HIDDEN);
}

/** Returns a string with the secrets of all its URLs hidden. Takes linear time. */
export function hideUrlSecrets(text: string): string {
  const pieces: string[] = [];
  let from = 0;
  for (let at = text.indexOf('://'); at >= 0; at = text.indexOf('://', from)) {
    const start = schemeStart(text, at, from);
    const end = wordEnd(text, at);
    const scheme = text.slice(start, at);
    pieces.push(text.slice(from, start), scheme === '' ? HIDDEN : shown(scheme, text.slice(at + 1, end)));
    from = end;
  }
  return pieces.join('') + text.slice(from);
}

/** Hides paths such as `//user:password@host`, which do not name a file. */
function shownFile(path: string): string {
  const colon = path.indexOf(':');
  const hasLogin = colon >= 0 && colon < path.lastIndexOf('@');
  return hasLogin || /^\/\/[^/]/.test(path) ? HIDDEN : path;
}

function shownServers(head: string): string {
  const body = head.replace(/^[\\/]{0,4}/, '');
  const at = body.lastIndexOf('@');
  const address = body.slice(at + 1);
  const slash = address.indexOf('/');
  const [hosts, path] = slash < 0 ? [address, ''] : [address.slice(0, slash), address.slice(slash)];
  const isHarmless = hosts.split(',').every((host) => HOST.test(host)) && PATH.test(path);
  if (!isHarmless) return HIDDEN;
  return at < 0 ? address : `${HIDDEN}@${address}`;
}

function shownOptions(tail: string): string {
  if (tail === '' || tail === '?') return tail;
  if (!tail.startsWith('?')) return HIDDEN;
  const options = tail.slice(1).split('&');
  const shown = options.filter((option) => {
    const [name, value, ...more] = option.split('=');
    return HARMLESS_OPTIONS.has(name!) && value !== undefined && HARMLESS_VALUE.test(value) && more.length === 0;
  });
  if (shown.length < options.length) shown.push(HIDDEN);
  return `?${shown.join('&')}`;
}

/** Returns the index at which the scheme before `://` begins, or the index of `://` itself if there is no scheme. */
function schemeStart(text: string, at: number, from: number): number {
  let start = at;
  while (start > from && at - start < MAX_SCHEME && SCHEME_CHARACTER.test(text[start - 1]!)) start--;
  return start;
}

function wordEnd(text: string, at: number): number {
  const length = text.slice(at).search(/[\s"'`<>]/);
  const end = length < 0 ? text.length : at + length;
  // Excludes the punctuation of the sentence around the URL.
  return /[.,;:!)\]]/.test(text[end - 1]!) && end > at + 3 ? end - 1 : end;
}
