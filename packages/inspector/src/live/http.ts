/** Requests to the server the page came from. What it refuses is the same error every other caller gets. */
import { signal } from '@preact/signals';
import { ERROR_CODES, type ErrorCode, type ErrorDetails, TidemarkError } from '@tidemark/core/portable';
import { encodeSegment } from '../shell/segments.ts';

const KEY_PLACE = 'tidemark.key';

/** The key of a server that asks for one, for as long as the tab is open. */
const accessKey = signal(sessionStorage.getItem(KEY_PLACE) ?? '');
/** True while the server wants to know who asks. */
export const isSignInNeeded = signal(false);

export function signIn(key: string): void {
  sessionStorage.setItem(KEY_PLACE, key);
  accessKey.value = key;
  isSignInNeeded.value = false;
}

export type QueryValue = string | number | boolean | undefined | readonly string[];
export type Query = Readonly<Record<string, QueryValue>>;

export interface Asking {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** The path of a resource: `/v1/` and its segments, encoded so that every id survives. */
export function resource(...segments: string[]): string {
  return `/v1/${segments.map(encodeSegment).join('/')}`;
}

/** The address with its query; parameters that are undefined or empty are left out. */
export function address(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === 'object') for (const one of value) parameters.append(name, one);
    else if (value !== undefined && value !== '') parameters.set(name, String(value));
  }
  return parameters.size > 0 ? `${path}?${parameters}` : path;
}

/** The JSON that a request gives, `undefined` for an answer without one. */
export async function ask<T>(path: string, asking: Asking = {}): Promise<T> {
  const text = await askText(path, asking);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

export async function askText(path: string, asking: Asking = {}): Promise<string> {
  const response = await request(path, asking);
  return response.text();
}

/** The response itself, if it is a success. */
export async function request(path: string, { method = 'GET', query, body, headers, signal }: Asking = {}) {
  const response = await fetch(address(path, query), {
    method,
    headers: { ...authorization(), ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause;
    throw new TidemarkError('UNAVAILABLE', 'The server does not answer', { cause });
  });
  if (response.ok) return response;
  if (response.status === 401) isSignInNeeded.value = true;
  throw await problemOf(response);
}

function authorization(): Record<string, string> {
  return accessKey.value === '' ? {} : { authorization: `Bearer ${accessKey.value}` };
}

async function problemOf(response: Response): Promise<TidemarkError> {
  const problem = (await response.json().catch(() => ({}))) as ErrorDetails & { code?: string; detail?: string };
  const code = problem.code && problem.code in ERROR_CODES ? (problem.code as ErrorCode) : 'UNAVAILABLE';
  return new TidemarkError(code, problem.detail ?? `The server answered ${response.status}`, problem);
}

/** What went wrong, in words for a reader. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What to do about it, where the code of the error has an answer. */
export function remedyOf(error: unknown): string {
  return error instanceof TidemarkError ? ERROR_CODES[error.code].remedy : '';
}
