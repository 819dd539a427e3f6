/**
 * Declarations of routes. The name of a route is its method and path, `GET /v1/runs/{runId}/events`. The server binds a
 * handler to that name, and the client and the inspector use it to call the route. The OpenAPI document and the types
 * of parameters, bodies and responses are derived from the declaration.
 */
import type { ErrorCode } from '@tidemark/core/portable';
import type { Static, TObject, TSchema } from 'typebox';

export type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';

export interface RouteDeclaration {
  /** The scope that a key needs, or `null` if the route needs no key. */
  scope: string | null;
  summary: string;
  query?: TObject;
  /** JSON that is parsed and checked before the handler is called. */
  body?: TSchema;
  /**
   * Set if the server checks only that the body is an object, or an array if the schema allows one. The store then
   * checks the members, so that its errors are the same for every caller.
   */
  storeChecksBody?: true;
  /** Set if the route reads a page of a list although its query has no `limit`. The limits for lists then apply. */
  readsList?: true;
  /** Media types besides JSON that the handler reads directly from the request. */
  reads?: readonly string[];
  /** The schema of the response for each success status. */
  answers: Readonly<Record<number, TSchema | null>>;
  /** Media types besides JSON that a GET returns when `Accept` requests them: lines, a live stream, or bytes. */
  produces?: readonly string[];
  /** Error codes in addition to those that every route may return. */
  problems?: readonly ErrorCode[];
  /** Statuses that replace the usual statuses of error codes, with the reason. */
  refusals?: Readonly<Record<number, string>>;
  /**
   * Set if a caller confined to one session may use this route although its path names no session. The handler then
   * confines the call.
   */
  confinesSession?: true;
}

/** Declares the routes of a domain. Keeps the literal types, because all other types are derived from them. */
export function routes<const Table extends Readonly<Record<`${Method} /${string}`, RouteDeclaration>>>(
  table: Table,
): Table {
  return table;
}

/** The ids in the path of a route. */
export type ParamsOf<Name> = Name extends `${string}{${infer Param}}${infer Rest}`
  ? { [P in Param]: string } & ParamsOf<Rest>
  : unknown;

export type QueryOf<Route> = Route extends { query: infer Query extends TSchema } ? Static<Query> : object;

/** The body's type, or `undefined` if the route has no body or its handler reads another media type than JSON. */
export type BodyOf<Route> =
  | (Route extends { body: infer Body extends TSchema } ? Static<Body> : undefined)
  | (Route extends { reads: readonly string[] } ? undefined : never);

/** The JSON of any success status; `null` for a status without a body. */
export type AnswerOf<Route> = Route extends { answers: infer Answers }
  ? { [Status in keyof Answers]: Answers[Status] extends TSchema ? Static<Answers[Status]> : null }[keyof Answers]
  : never;
