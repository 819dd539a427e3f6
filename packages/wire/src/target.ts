/** Routes as callers name them: by method and path, which the table of routes checks and types. */
import type { AnswerOf, BodyOf, Method, ParamsOf, QueryOf, RouteName, Routes } from './routes/index.ts';
import { segmentOf } from './segments.ts';

/** A route with ids in its path. */
export interface Target<Name extends RouteName> {
  readonly route: Name;
  readonly method: Method;
  readonly path: string;
}

/** Ids of a path before they are checked. */
export type ParamsTo<Name> = { [Param in keyof ParamsOf<Name>]: unknown };

/** A parameter as callers give it: durations as text or milliseconds, lists also as their only item. */
type Given<Value> = Value extends readonly (infer Item)[]
  ? Value | Item
  : string extends Value
    ? string | number
    : Value;

/** The parameters of a route's query, with the one that every route has. */
export type QueryTo<Name extends RouteName> = Name extends RouteName
  ? { [Parameter in keyof QueryOf<Routes[Name]>]: Given<QueryOf<Routes[Name]>[Parameter]> } & { tenant?: string }
  : never;

/** The JSON that a route takes. */
export type BodyTo<Name extends RouteName> = BodyOf<Routes[Name]>;

/** The JSON that a route answers with. */
export type AnswerTo<Name extends RouteName> = AnswerOf<Routes[Name]>;

/** Returns the method and path of a route; throws `INVALID_ARGUMENT` for a value that is not an id. */
export function targetOf<Name extends RouteName>(
  route: Name,
  ...[params]: keyof ParamsOf<Name> extends never ? [] : [params: ParamsTo<Name>]
): Target<Name> {
  return targetWith(route, params);
}

/** The same for a caller that is itself generic in the route. */
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
