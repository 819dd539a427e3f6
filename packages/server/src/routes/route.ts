/** The arguments of route handlers, and the function that binds handlers to the table of routes. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ArtifactRef, CallOptions, Store } from '@tidemark/core';
import type { CheckpointReader } from '@tidemark/runtime';
import type { BodyOf, Method, ParamsOf, QueryOf, RouteDeclaration, RouteName, Routes } from '@tidemark/wire/routes';
import type { Hold } from '../auth/holds.ts';
import type { RouteScope } from '../auth/scopes.ts';
import type { Principal } from '../auth.ts';
import type { FeedCursors } from '../hiding/feed-cursors.ts';
import type { ANSWERED, Answer } from '../http/answer.ts';
import type { Callers } from '../limits/callers.ts';
import type { MemoryBudget, MemoryLease } from '../limits/memory-budget.ts';
import type { Shares } from '../limits/shares.ts';
import type { Work } from '../limits/work.ts';
import type { Limits } from '../limits.ts';
import type { ServerLoops } from '../loops.ts';
import type { Metrics } from '../metrics.ts';
import type { Hub } from '../streams/hub.ts';

/** Services shared by all calls. */
export interface Services {
  readonly hub: Hub;
  readonly shares: Shares;
  readonly work: Work;
  readonly cursors: FeedCursors;
  /** Whether tenants see encrypted revisions, which are in no order. */
  readonly hidesRevisions: boolean;
  /** Absent (`null`) without auth, because callers then cannot be distinguished. */
  readonly callers: Callers | null;
  readonly metrics: Metrics;
  readonly limits: Limits;
  readonly memory: MemoryBudget;
  /** The OpenAPI document. */
  readonly document: object;
  /** Returns why the server is not ready, or `null` if it is ready. */
  notReady(): Promise<string | null>;
  readonly loops: ServerLoops;
  /** Reads the checkpoints of the store; `null` if the server was started without them. */
  readonly checkpoints: CheckpointReader | null;
  /** Returns a URL to which a download may be redirected, or `null`. */
  downloadUrl(tenantId: string, ref: ArtifactRef, options: CallOptions): Promise<string | null>;
}

/** One request to a route. */
export interface Call<Query = unknown, Body = unknown, Params = unknown> {
  /** The store, confined to the caller's tenant if it has one. */
  readonly store: Store;
  readonly principal: Principal;
  /** Set if the request may be long-lived and the credential may end. */
  readonly hold: Hold | null;
  /** The ids in the path. */
  readonly params: Readonly<Params>;
  readonly query: Query;
  readonly body: Body;
  /** The options of store calls, with the time limit that the caller requested. */
  readonly options: CallOptions;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly services: Services;
  /** The memory that the request has reserved. Released when the response is complete. */
  readonly memory: MemoryLease;
}

/** A route of the table with its handler. */
export interface Route extends RouteDeclaration {
  method: Method;
  /** The path with parameters in braces: `/v1/runs/{runId}/events`. */
  path: string;
  scope: RouteScope | null;
  handle(call: Call<never, never, never>): Promise<Answer | typeof ANSWERED> | Answer | typeof ANSWERED;
}

type CallWith<Name, Declaration> = Call<QueryOf<Declaration>, BodyOf<Declaration>, ParamsOf<Name>>;

/** A request to a route of the table, typed by its schemas. */
export type CallOf<Name extends RouteName> = CallWith<Name, Routes[Name]>;

/** Binds handlers to the routes of a table. A route without a handler, or an unknown scope, is a type error. */
export function bind<Table extends Readonly<Record<string, RouteDeclaration & { scope: RouteScope | null }>>>(
  table: Table,
  handlers: { [Name in keyof Table]: (call: CallWith<Name, Table[Name]>) => ReturnType<Route['handle']> },
): Route[] {
  return Object.entries(table).map(([name, declaration]) => {
    const [method, path] = name.split(' ') as [Method, string];
    return { ...declaration, method, path, handle: handlers[name] as Route['handle'] };
  });
}

/** Whether the caller accepts this media type. */
export function wants({ request }: Pick<Call, 'request'>, type: string): boolean {
  return request.headers.accept?.includes(type) === true;
}
