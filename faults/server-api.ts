/** Every operation of the OpenAPI document, and requests generated from the document alone. */
import { openApiDocument } from '@tidemark/server';

export interface Schema {
  $ref?: string;
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  patternProperties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  schema?: Schema;
  content?: { 'application/json': { schema: Schema } };
}

export interface Operation {
  method: string;
  path: string;
  /** For example `GET /v1/runs`. */
  name: string;
  /** `undefined` for routes without authentication. */
  scope: string | undefined;
  parameters: Parameter[];
  bodies: Record<string, { schema?: Schema }>;
  statuses: ReadonlySet<number>;
}

interface RawOperation {
  'x-scope'?: Operation['scope'];
  parameters: Parameter[];
  requestBody?: { content: Operation['bodies'] };
  responses: Record<string, unknown>;
}

const DOCUMENT = openApiDocument() as {
  paths: Record<string, Record<string, RawOperation>>;
  components: { schemas: Record<string, Schema> };
};

export const OPERATIONS: readonly Operation[] = Object.entries(DOCUMENT.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, { parameters, requestBody, responses, 'x-scope': scope }]) => ({
    method: method.toUpperCase(),
    path,
    name: `${method.toUpperCase()} ${path}`,
    scope,
    parameters,
    bodies: requestBody?.content ?? {},
    statuses: new Set(Object.keys(responses).map(Number)),
  })),
);

/** Operations that require authentication. */
export const GUARDED = OPERATIONS.filter(({ scope }) => scope !== undefined);

/** Returns a schema with its reference resolved. */
export function resolve(schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : resolve(DOCUMENT.components.schemas[name]!);
}

/** Ids and texts for requests, by the name of the parameter or property. */
export type Names = Readonly<Record<string, unknown>>;

/** Returns a minimal value that fits a schema, or a named value if the name is known. */
export function sampleOf(schema: Schema, names: Names, name = ''): unknown {
  if (name in names) return names[name];
  const it = resolve(schema);
  if (it.const !== undefined) return it.const;
  if (it.enum) return it.enum[0];
  if (it.anyOf) return sampleOf(it.anyOf[0]!, names, name);
  if (it.allOf) return Object.assign({}, ...it.allOf.map((part) => sampleOf(part, names)));
  if (it.type === 'object' || it.properties) {
    const wanted = (it.required ?? []).map((key) => [key, sampleOf(it.properties![key]!, names, key)]);
    return Object.fromEntries(wanted);
  }
  if (it.type === 'array') return [sampleOf(it.items ?? {}, names, name)];
  if (it.type === 'integer' || it.type === 'number') return 1;
  if (it.type === 'boolean') return true;
  return it.type === 'string' ? 'x' : {};
}

export interface BuiltRequest {
  path: string;
  method: string;
  headers: Record<string, string>;
  body?: string;
}

/** Returns a request to an operation. Throws for a path parameter without a value, so that a new route is noticed. */
export function requestTo(operation: Operation, names: Names, extra: Record<string, string> = {}): BuiltRequest {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (!(name in names))
      throw new Error(`${operation.name} has a parameter ${name} that these tests know no value of`);
    return encodeURIComponent(String(names[name]));
  });
  const query = new URLSearchParams(extra);
  for (const { name, in: location, required, schema } of operation.parameters) {
    if (location === 'query' && required && !query.has(name))
      query.set(name, String(sampleOf(schema ?? {}, names, name)));
  }
  const [type] = Object.keys(operation.bodies);
  const headers: Record<string, string> = {};
  const url = `${path}${query.size > 0 ? `?${query}` : ''}`;
  if (type === undefined) return { path: url, method: operation.method, headers };
  headers['content-type'] = type;
  const { schema } = operation.bodies[type]!;
  const body = schema ? JSON.stringify(sampleOf(schema, names)) : '{}\n';
  return { path: url, method: operation.method, headers, body };
}

export function call(url: string, request: BuiltRequest, headers: Record<string, string> = {}): Promise<Response> {
  const { path, method, body } = request;
  return fetch(url + path, {
    method,
    headers: { ...request.headers, ...headers },
    ...(body === undefined ? {} : { body }),
  });
}
