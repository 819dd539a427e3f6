/**
 * Declarations of routes. The name of a route is its method and path, `GET /v1/runs/{runId}/events`. The server binds a
 * handler to the name, and the client and the inspector call it by the name. The OpenAPI document and the types of
 * parameters, bodies and responses are derived from the declaration.
 */
import type { ErrorCode } from '@tidemark/core/portable';
import type { Static, TObject, TSchema } from 'typebox';

export type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';

export interface RouteDeclaration {
  /** The scope a key needs, or `null` if the route needs no key. */
  scope: string | null;
  summary: string;
  query?: TObject;
  /** JSON that is parsed and checked before the handler is called. */
  body?: TSchema;
  /**
   * The server checks only that the body is an object, or an array if the schema allows one. The store checks its
   * members, so that its errors are the same for every caller.
   */
  storeChecksBody?: true;
  /** Reads a page of a list although the query has no `limit`: the limits for lists apply. */
  readsList?: true;
  /** Media types besides JSON that the handler reads from the request itself. */
  reads?: readonly string[];
  /** Schema of each success status. */
  answers: Readonly<Record<number, TSchema | null>>;
  /** Other media types that a GET returns when `Accept` asks for them: lines, a live stream, bytes. */
  produces?: readonly string[];
  /** Error codes besides those that every route may return. */
  problems?: readonly ErrorCode[];
  /** Statuses that replace the usual ones of its error codes, with the reason. */
  refusals?: Readonly<Record<number, string>>;
  /**
   * A caller confined to one session may use this route although its path names no session: the handler confines the
   * call.
   */
  confinesSession?: true;
}

/** Declares the routes of a domain. Keeps the literal types: all other types are derived from them. */
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

/** The JSON of any success status, or `null` for a status without a body. */
export type AnswerOf<Route> = Route extends { answers: infer Answers }
  ? { [Status in keyof Answers]: Answers[Status] extends TSchema ? Static<Answers[Status]> : null }[keyof Answers]
  : never;
