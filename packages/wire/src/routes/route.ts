/**
 * What a route declares. Its name is its method and path, `GET /v1/runs/{runId}/events`: the server binds a handler to the
 * name, and the client and the inspector call it by the name. The OpenAPI document is made of the declaration, and the types
 * of parameters, bodies and answers are those of its schemas.
 */
import type { ErrorCode } from '@tidemark/core/portable';
import type { Static, TObject, TSchema } from 'typebox';

export type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';

export interface RouteDeclaration {
  /** What a key must allow; `null`: open to everybody who may reach the server. */
  scope: string | null;
  summary: string;
  query?: TObject;
  /** JSON that is parsed and checked before the handler is called. */
  body?: TSchema;
  /**
   * The store checks the members of the body, in the words it uses for every caller; before that it is only seen to that
   * the body is an object, or an array where the schema allows one.
   */
  storeChecksBody?: true;
  /** Reads a page of a list although no parameter of the query says so: limits of lists hold for it. */
  readsList?: true;
  /** Types the handler reads from the request itself, besides JSON. */
  reads?: readonly string[];
  /** What a success gives, by status. */
  answers: Readonly<Record<number, TSchema | null>>;
  /** Other forms a GET gives when `Accept` asks for them: lines, a live stream, bytes. */
  gives?: readonly string[];
  /** Codes a caller may meet besides those of every route. */
  problems?: readonly ErrorCode[];
  /** Statuses it gives in place of those its codes have, and why. */
  refusals?: Readonly<Record<number, string>>;
  /** A caller of one session may use it although its path names none: the handler confines it. */
  confinesSession?: true;
}

/** Routes of a domain. The types of the declarations are kept: everything else is derived from them. */
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

/** `undefined` where the route has no body, or where the handler reads another type than JSON itself. */
export type BodyOf<Route> =
  | (Route extends { body: infer Body extends TSchema } ? Static<Body> : undefined)
  | (Route extends { reads: readonly string[] } ? undefined : never);

/** What a success gives as JSON, whatever its status; `null` where it gives none. */
export type AnswerOf<Route> = Route extends { answers: infer Answers }
  ? { [Status in keyof Answers]: Answers[Status] extends TSchema ? Static<Answers[Status]> : null }[keyof Answers]
  : never;
