/** What a route is: where it lies, what it asks of its caller, what it takes, gives and refuses, and what it does. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CallOptions, ErrorCode, Store } from '@tidemark/core';
import type { TObject, TSchema } from 'typebox';
import type { Hold } from '../auth/holds.ts';
import type { RouteScope } from '../auth/scopes.ts';
import type { Principal } from '../auth.ts';
import type { ANSWERED, Answer } from '../http/answer.ts';
import type { Callers } from '../limits/callers.ts';
import type { MemoryBudget, MemoryLease } from '../limits/memory-budget.ts';
import type { Shares } from '../limits/shares.ts';
import type { Work } from '../limits/work.ts';
import type { Limits } from '../limits.ts';
import type { ServerLoops } from '../loops.ts';
import type { Metrics } from '../metrics.ts';
import type { FeedCursors } from '../streams/feed-cursors.ts';
import type { Hub } from '../streams/hub.ts';

/** What all calls share. */
export interface Services {
  readonly hub: Hub;
  readonly shares: Shares;
  readonly work: Work;
  readonly cursors: FeedCursors;
  /** `null` where all callers are one. */
  readonly callers: Callers | null;
  readonly metrics: Metrics;
  readonly limits: Limits;
  readonly memory: MemoryBudget;
  /** The OpenAPI document. */
  readonly document: object;
  /** Returns why the server takes no work now, or `null`. */
  notReady(): Promise<string | null>;
  readonly loops: ServerLoops;
}

/** One request on its way through a route. */
export interface Call<Query = unknown, Body = unknown> {
  /** Confined to the caller's tenant where it has one. */
  readonly store: Store;
  readonly principal: Principal;
  /** Ends with the caller's credential, where the request may last and the credential may end. */
  readonly hold: Hold | null;
  /** The ids of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** How long the store may take: what the caller said. */
  readonly options: CallOptions;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly services: Services;
  /** What the request makes the server hold; released when it is answered. */
  readonly memory: MemoryLease;
}

/** What a route declares; the OpenAPI document is made of it. */
export interface RouteDeclaration {
  method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  /** With parameters in braces: `/v1/runs/{runId}/events`. */
  path: string;
  /** `null`: open to everybody who may reach the server. */
  scope: RouteScope | null;
  summary: string;
  query?: TObject;
  /** JSON that is parsed and checked before the handler is called. */
  body?: TSchema;
  /**
   * The store checks the members of the body, in the words it uses for every caller; before that it is only seen to that
   * the body is an object, or an array where the schema allows one.
   */
  storeChecksBody?: true;
  /** Types the handler reads from the request itself, besides JSON. */
  reads?: readonly string[];
  /** What a success gives, by status. */
  answers: Readonly<Record<number, TSchema | null>>;
  /** Other forms a GET gives when `Accept` asks for them. */
  gives?: readonly string[];
  /** Codes a caller may meet besides those of every route. */
  problems?: readonly ErrorCode[];
  /** Statuses it gives in place of those its codes have, and why. */
  refusals?: Readonly<Record<number, string>>;
  /** A caller of one session may use it although its path names none: the handler confines it. */
  confinesSession?: boolean;
}

export interface Route extends RouteDeclaration {
  handle(call: Call<never, never>): Promise<Answer | typeof ANSWERED> | Answer | typeof ANSWERED;
}

/** A route, with the types its schemas stand for. */
export function route<Query = unknown, Body = unknown>(
  declaration: RouteDeclaration,
  handle: (call: Call<Query, Body>) => ReturnType<Route['handle']>,
): Route {
  return { ...declaration, handle };
}

/** Whether the caller asks for this form of an answer. */
export function wants({ request }: Pick<Call, 'request'>, type: string): boolean {
  return request.headers.accept?.includes(type) === true;
}
