/** Schemas shared by all domains. A schema with a title becomes a component of the OpenAPI document. */
import Type, { type TProperties, type TSchema } from 'typebox';

/** Marks parameters that hold JSON. OpenAPI shows them as text. */
export const JSON_PARAMETER = 'x-json';

export const Id = Type.String({ description: '1 to 512 UTF-8 bytes, without NUL' });
export const OptionalId = Type.Optional(Type.Union([Id, Type.Null()]));
export const Time = Type.String({ description: 'RFC 3339 in UTC' });
export const Duration = Type.Union([Type.Number(), Type.String()], {
  title: 'Duration',
  description: 'Milliseconds, or text such as 90s or 1h',
});
/** Any JSON value. The store checks it, so that its errors are the same for every caller (GEN-4). */
export const Json = Type.Unknown();

/** Any JSON value, declared with a type. The store checks such values in requests and creates them in responses. */
export function jsonOf<T>() {
  return Type.Unsafe<T>(Json);
}

/** The named members of a type, without its index signature. */
type Named<T> = { [K in keyof T as string extends K ? never : K]-?: TSchema };

/**
 * Declares the schema of a contract type. A member that is missing from the schema or from the type is a type error.
 */
export function shapeOf<T>() {
  return <P extends Named<T>>(
    properties: P & { [K in Exclude<keyof P, keyof Named<T>>]: never },
    options: { title?: string; additionalProperties?: boolean } = {},
  ) => Type.Unsafe<T>(Type.Object(properties as TProperties, options));
}

/** Text that the store checks against a list of words. */
export function wordOf<T extends string>(description?: string) {
  return Type.Unsafe<T>(Type.String(description === undefined ? {} : { description }));
}
/** Any number. The store checks its range. */
export const Count = Type.Number();

/** The description of an empty list, for parameters that may be repeated. */
export const EMPTY_LIST = 'A single empty value means an empty list.';

export const RequestId = Type.Optional(Id);

/** A page of a list. */
export function pageOf<Item extends TSchema>(item: Item) {
  const damaged = Type.Optional(Type.Array(Type.String()));
  return Type.Object({ items: Type.Array(item), next: Type.Optional(Type.String()), damaged });
}

/** A parameter that holds JSON. */
export function jsonParameter<Schema extends TSchema>(schema: Schema, description: string): Schema {
  return { ...schema, [JSON_PARAMETER]: true, description };
}

const PAGE_PARAMETERS = {
  cursor: Type.Optional(Type.String({ description: 'The `next` of the previous page' })),
  limit: Type.Optional(Type.Integer()),
};

/** Query parameters of a paged list. */
export function pageQuery<T extends TProperties>(more: T) {
  return Type.Object({ ...PAGE_PARAMETERS, ...more });
}

export const Problem = Type.Object(
  {
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    code: Type.String(),
    retryable: Type.Boolean(),
    outcome: Type.Enum(['rejected', 'unknown']),
    field: Type.Optional(Type.String()),
    rule: Type.Optional(Type.String()),
    errors: Type.Optional(
      Type.Array(Type.Object({ field: Type.String(), rule: Type.String() }), {
        description: 'All errors of an invalid event, at most 20',
      }),
    ),
    current: Type.Optional(Json),
    runId: Type.Optional(Type.String()),
    runSeq: Type.Optional(Type.Integer()),
    keyId: Type.Optional(Type.String()),
    archive: Type.Optional(Type.String()),
    retryAfterMs: Type.Optional(Type.Integer({ description: 'How long to wait before retrying a rate-limited call' })),
    attempts: Type.Optional(Type.Integer()),
    requestId: Type.Optional(Type.String({ description: "The id of the details in the server's log" })),
  },
  { title: 'Problem' },
);
