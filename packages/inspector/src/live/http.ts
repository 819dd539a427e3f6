/** Requests to the server of this page. Failures throw the same errors as in other clients. */
import { signal } from '@preact/signals';
import { ERROR_CODES, TidemarkError } from '@tidemark/core/portable';
import {
  type AnswerTo,
  type BodyTo,
  errorOfProblem,
  JSON_TYPE,
  type ParamsTo,
  problemOfAnswer,
  type QueryTo,
  queryOf,
  type RouteName,
  targetWith,
} from '@tidemark/wire';
import { noteAnswer, noteSilence } from './outage.ts';

const STORAGE_KEY = 'tidemark.key';

/** The access key, kept while the tab is open. */
const accessKey = signal(sessionStorage.getItem(STORAGE_KEY) ?? '');
/** True while the server requires a key. */
export const isSignInNeeded = signal(false);

export function signIn(key: string): void {
  sessionStorage.setItem(STORAGE_KEY, key);
  accessKey.value = key;
  isSignInNeeded.value = false;
}

/** The options of a request to a route. */
export interface RequestOptions<Name extends RouteName> {
  query?: QueryTo<Name>;
  body?: BodyTo<Name>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Request options. They include the ids in the path if the path has any. */
type PathRequestOptions<Name extends RouteName> = RequestOptions<Name> & { params?: ParamsTo<Name> };

/** Returns the address of a route. Omits undefined and empty parameters. */
export function addressOf<Name extends RouteName>(route: Name, { params, query }: PathRequestOptions<Name>): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== '');
  return targetWith(route, params).path + queryOf(Object.fromEntries(given));
}

/** Requests a route and returns the JSON of its response. */
export async function ask<Name extends RouteName>(
  route: Name,
  options: PathRequestOptions<Name> = {},
): Promise<AnswerTo<Name>> {
  const text = await askText(route, options);
  return (text === '' ? null : JSON.parse(text)) as AnswerTo<Name>;
}

export async function askText<Name extends RouteName>(
  route: Name,
  options: PathRequestOptions<Name> = {},
): Promise<string> {
  const response = await request(route, options);
  return response.text();
}

/** Requests a route and returns the response; throws unless it succeeded. */
export async function request<Name extends RouteName>(
  route: Name,
  options: PathRequestOptions<Name> = {},
): Promise<Response> {
  const { params, body, headers, signal } = options;
  const response = await fetch(addressOf(route, options), {
    method: targetWith(route, params).method,
    headers: { ...authorization(), ...(body === undefined ? {} : { 'content-type': JSON_TYPE }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause;
    noteSilence();
    throw new TidemarkError('UNAVAILABLE', 'The server does not answer', { cause });
  });
  if (response.ok) {
    noteAnswer();
    return response;
  }
  if (response.status === 401) isSignInNeeded.value = true;
  const problem = await problemOfAnswer(response);
  // While the server is down, a proxy in front of it responds with its own page.
  if (problem || response.status < 502) noteAnswer();
  else noteSilence();
  throw problem ? errorOfProblem(problem) : new TidemarkError('UNAVAILABLE', `The server answered ${response.status}`);
}

function authorization(): Record<string, string> {
  return accessKey.value === '' ? {} : { authorization: `Bearer ${accessKey.value}` };
}

/** Returns the message of an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns what to do about an error, or an empty string if its code is unknown. */
export function remedyOf(error: unknown): string {
  return error instanceof TidemarkError ? ERROR_CODES[error.code].remedy : '';
}
