/** Calls to routes by method and path, typed by the table of routes. */
import type { AnswerOf, BodyOf, Method, ParamsOf, QueryOf, RouteName, Routes } from './routes/index.ts';
import { segmentOf } from './segments.ts';

/** A route with the ids filled into its path. */
export interface Target<Name extends RouteName> {
  readonly route: Name;
  readonly method: Method;
  readonly path: string;
}

/** Path parameters before they are checked. */
export type ParamsTo<Name> = { [Param in keyof ParamsOf<Name>]: unknown };

/**
 * A query parameter as callers pass it. Durations may be text or milliseconds, and a single item may stand for a list.
 */
type Given<Value> = Value extends readonly (infer Item)[]
  ? Value | Item
  : string extends Value
    ? string | number
    : Value;

/** The query parameters of a route, including `tenant`, which every route accepts. */
export type QueryTo<Name extends RouteName> = Name extends RouteName
  ? { [Parameter in keyof QueryOf<Routes[Name]>]: Given<QueryOf<Routes[Name]>[Parameter]> } & { tenant?: string }
  : never;

/** The JSON body of a route. */
export type BodyTo<Name extends RouteName> = BodyOf<Routes[Name]>;

/** The JSON response of a route. */
export type AnswerTo<Name extends RouteName> = AnswerOf<Routes[Name]>;

/** Returns the method and path of a route. Throws `INVALID_ARGUMENT` for an invalid id. */
export function targetOf<Name extends RouteName>(
  route: Name,
  ...[params]: keyof ParamsOf<Name> extends never ? [] : [params: ParamsTo<Name>]
): Target<Name> {
  return targetWith(route, params);
}

/** Like `targetOf`, for callers that are themselves generic in the route. */
export function targetWith<Name extends RouteName>(route: Name, params: ParamsTo<Name> | undefined): Target<Name> {
  const space = route.indexOf(' ');
  const path = route.slice(space + 1);
  const ids = params as Record<string, unknown> | undefined;
  return {
    route,
    method: route.slice(0, space) as Method,
    path: ids === undefined ? path : path.replaceAll(/\{(\w+)\}/g, (_, name: string) => segmentOf(ids[name], name)),
  };
}
