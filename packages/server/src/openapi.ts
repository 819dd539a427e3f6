/** The OpenAPI document, generated from the same declarations that the server uses. */
import { CONTRACT_VERSION, type ErrorCode } from '@tidemark/core';
import { JSON_TYPE, PROBLEM_TYPE, STATUS_OF } from '@tidemark/wire';
import { JSON_PARAMETER, Problem, ROUTE_DESCRIPTIONS, type RouteName } from '@tidemark/wire/routes';
import { curlOf } from './curl.ts';
import type { Route } from './routes/route.ts';

/** Errors that every route may return. */
const COMMON_PROBLEMS: readonly ErrorCode[] = ['INVALID_ARGUMENT', 'FORBIDDEN', 'OVERLOADED', 'UNAVAILABLE', 'TIMEOUT'];
const PROBLEMS_WITH_CALLER: readonly ErrorCode[] = [
  'UNAUTHENTICATED',
  'TENANT_MISMATCH',
  'UNSUPPORTED',
  'STORAGE_ERROR',
];
const PROBLEMS_WITH_JSON: readonly ErrorCode[] = ['INVALID_PAYLOAD'];
const PROBLEMS_WITH_BODY: readonly ErrorCode[] = ['INVALID_PAYLOAD', 'PAYLOAD_TOO_LARGE'];

type Node = Record<string, unknown>;

/** Returns the document for these routes. */
export function openApiOf(routes: readonly Route[]): object {
  const schemas: Record<string, unknown> = {};
  const refer = (schema: unknown) => named(schema, schemas);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    paths[route.path]![route.method.toLowerCase()] = operationOf(route, refer);
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Tidemark', version: CONTRACT_VERSION, description: 'State of workflow and agent runtimes.' },
    paths,
    components: {
      schemas,
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An API key or a JWT' } },
    },
  };
}

function operationOf(route: Route, refer: (schema: unknown) => unknown): object {
  const { method, path, scope, summary, body, reads = [] } = route;
  const types = [...(body ? [JSON_TYPE] : []), ...reads];
  const { details, ...example } = ROUTE_DESCRIPTIONS[`${method} ${path}` as RouteName];
  const shown = example.body === undefined ? {} : { example: example.body };
  return {
    operationId: `${method.toLowerCase()}${path.replaceAll(/[^A-Za-z0-9]+/g, '_')}`,
    summary,
    description: details,
    'x-codeSamples': [{ lang: 'curl', source: curlOf(method, example) }],
    tags: [path.split('/')[2] ?? 'server'],
    ...(scope === null ? { security: [] } : { security: [{ bearer: [] }], 'x-scope': scope }),
    parameters: [...pathParameters(path), ...queryParameters(route, refer), ...headerParameters(route)],
    ...(types.length === 0
      ? {}
      : {
          requestBody: {
            required: true,
            content: Object.fromEntries(
              types.map((type) => [type, type === JSON_TYPE ? { schema: refer(body), ...shown } : {}]),
            ),
          },
        }),
    responses: { ...answersOf(route, refer), ...problemsOf(route, refer) },
  };
}

function pathParameters(path: string): object[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    description: 'Percent-encoded; `.`, `..` and ids that begin with `~` get a leading `~`',
  }));
}

function queryParameters({ query, scope }: Route, refer: (schema: unknown) => unknown): object[] {
  const declared = Object.entries((query?.properties ?? {}) as Record<string, Node>).map(([name, schema]) => ({
    name,
    in: 'query',
    ...(query!.required?.includes(name) ? { required: true } : {}),
    ...(typeof schema.description === 'string' ? { description: schema.description } : {}),
    ...(JSON_PARAMETER in schema
      ? { content: { [JSON_TYPE]: { schema: refer(withoutMark(schema)) } } }
      : { schema: refer(schema) }),
  }));
  const tenant = {
    name: 'tenant',
    in: 'query',
    schema: { type: 'string' },
    description: 'Operators only: the tenant to act for',
  };
  return scope === null ? declared : [...declared, tenant];
}

function withoutMark({ [JSON_PARAMETER]: _, ...schema }: Node): Node {
  return schema;
}

function headerParameters({ scope }: Route): object[] {
  if (scope === null) return [];
  const header = (name: string, type: string, description: string) => ({
    name,
    in: 'header',
    schema: { type },
    description,
  });
  return [
    header('Tidemark-Tenant', 'string', 'Same as the parameter tenant, percent-encoded'),
    header('Tidemark-Timeout', 'integer', 'Maximum time that the caller waits, in milliseconds'),
  ];
}

function answersOf({ answers, produces = [] }: Route, refer: (schema: unknown) => unknown): Record<string, object> {
  return Object.fromEntries(
    Object.entries(answers).map(([status, schema]) => {
      const content: Record<string, object> = {};
      if (schema) content[JSON_TYPE] = { schema: refer(schema) };
      for (const type of produces) content[type] = {};
      return [status, { description: 'Done', ...(Object.keys(content).length === 0 ? {} : { content }) }];
    }),
  );
}

function problemsOf(
  { problems = [], refusals = {}, scope, query, body, reads }: Route,
  refer: (schema: unknown) => unknown,
): Record<string, object> {
  const codes = new Set<ErrorCode>([
    ...COMMON_PROBLEMS,
    ...(scope === null ? [] : PROBLEMS_WITH_CALLER),
    ...(body || reads ? PROBLEMS_WITH_BODY : []),
    ...(Object.values(query?.properties ?? {}).some((it) => JSON_PARAMETER in it) ? PROBLEMS_WITH_JSON : []),
    ...problems,
  ]);
  const byStatus = Map.groupBy(codes, (code) => STATUS_OF[code]);
  const content = { [PROBLEM_TYPE]: { schema: refer(Problem) } };
  const described = [...byStatus].map(([status, its]) => [status, { description: its.join(', '), content }]);
  const limited = ['OVERLOADED', ...(byStatus.get(429) ?? [])].join(', ');
  const ofHttp = [
    [421, { description: 'FORBIDDEN: the Host is not this server', content }],
    [429, { description: `${limited}: the caller sends too many requests, or its address sends wrong keys`, content }],
  ];
  if (body || reads)
    ofHttp.push([
      415,
      { description: 'INVALID_ARGUMENT: the content type or content encoding is not supported', content },
    ]);
  const ofRoute = Object.entries(refusals).map(([status, description]) => [status, { description, content }]);
  return Object.fromEntries([...described, ...ofHttp, ...ofRoute]);
}

/** Moves the titled parts of a schema to the components. */
function named(schema: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(schema)) return schema.map((it) => named(it, schemas));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { title, ...rest } = schema as Node;
  const parts = Object.fromEntries(Object.entries(rest).map(([key, part]) => [key, named(part, schemas)]));
  if (typeof title !== 'string') return title === undefined ? parts : { title: named(title, schemas), ...parts };
  schemas[title] = parts;
  return { $ref: `#/components/schemas/${title}` };
}
