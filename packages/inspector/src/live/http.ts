/** Requests to the server the page came from. What it refuses is the same error every other caller gets. */
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

/** What goes with a request of a route. */
export interface Asking<Name extends RouteName> {
  query?: QueryTo<Name>;
  body?: BodyTo<Name>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** The same, with the ids of the path where it has some. */
type AskingAt<Name extends RouteName> = Asking<Name> & { params?: ParamsTo<Name> };

/** Returns the address of a route; parameters that are undefined or empty are left out. */
export function addressOf<Name extends RouteName>(route: Name, { params, query }: AskingAt<Name>): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== '');
  return targetWith(route, params).path + queryOf(Object.fromEntries(given));
}

/** Returns the JSON that a route answers with. */
export async function ask<Name extends RouteName>(route: Name, asking: AskingAt<Name> = {}): Promise<AnswerTo<Name>> {
  const text = await askText(route, asking);
  return (text === '' ? null : JSON.parse(text)) as AnswerTo<Name>;
}

export async function askText<Name extends RouteName>(route: Name, asking: AskingAt<Name> = {}): Promise<string> {
  const response = await request(route, asking);
  return response.text();
}

/** Returns the response itself, if it is a success. */
export async function request<Name extends RouteName>(route: Name, asking: AskingAt<Name> = {}): Promise<Response> {
  const { params, body, headers, signal } = asking;
  const response = await fetch(addressOf(route, asking), {
    method: targetWith(route, params).method,
    headers: { ...authorization(), ...(body === undefined ? {} : { 'content-type': JSON_TYPE }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause;
    throw new TidemarkError('UNAVAILABLE', 'The server does not answer', { cause });
  });
  if (response.ok) return response;
  if (response.status === 401) isSignInNeeded.value = true;
  const problem = await problemOfAnswer(response);
  throw problem ? errorOfProblem(problem) : new TidemarkError('UNAVAILABLE', `The server answered ${response.status}`);
}

function authorization(): Record<string, string> {
  return accessKey.value === '' ? {} : { authorization: `Bearer ${accessKey.value}` };
}

/** What went wrong, in words for a reader. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What to do about it, where the code of the error has an answer. */
export function remedyOf(error: unknown): string {
  return error instanceof TidemarkError ? ERROR_CODES[error.code].remedy : '';
}
