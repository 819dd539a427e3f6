/** Schemas that all domains share. A schema with a title becomes a component of the OpenAPI document. */
import Type, { type TProperties, type TSchema } from 'typebox';

/** Parameters that hold JSON say so in their schema; OpenAPI shows them as text. */
export const JSON_PARAMETER = 'x-json';

export const Id = Type.String({ description: '1 to 512 UTF-8 bytes, without NUL' });
export const OptionalId = Type.Optional(Type.Union([Id, Type.Null()]));
export const Time = Type.String({ description: 'RFC 3339 in UTC' });
export const Duration = Type.Union([Type.Number(), Type.String()], {
  title: 'Duration',
  description: 'Milliseconds, or a text such as 90s or 1h',
});
/** Any JSON; the store checks it in the words it uses for every caller (GEN-4). */
export const Json = Type.Unknown();

/** The same where the type is known: the store checks what is sent as one, or has made what is given. */
export function jsonOf<T>() {
  return Type.Unsafe<T>(Json);
}

/** The members that a type names, without those of an index signature. */
type Named<T> = { [K in keyof T as string extends K ? never : K]-?: TSchema };

/**
 * A schema of an object that has the type of the contract. It has every member of that type and no other: a member that one of
 * the two lacks is a type error.
 */
export function shapeOf<T>() {
  return <P extends Named<T>>(
    properties: P & { [K in Exclude<keyof P, keyof Named<T>>]: never },
    options: { title?: string; additionalProperties?: boolean } = {},
  ) => Type.Unsafe<T>(Type.Object(properties as TProperties, options));
}

/** A text of which the store checks that it is one of some words. */
export function wordOf<T extends string>(description?: string) {
  return Type.Unsafe<T>(Type.String(description === undefined ? {} : { description }));
}
/** Text and numbers as they come; the store knows their rules. */
export const Count = Type.Number();

/** Said of parameters that may be given several times. */
export const EMPTY_LIST = 'Once, with an empty value: none of them.';

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

/** Parameters of a list that is given in pages. */
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
    current: Type.Optional(Json),
    runId: Type.Optional(Type.String()),
    runSeq: Type.Optional(Type.Integer()),
    keyId: Type.Optional(Type.String()),
    archive: Type.Optional(Type.String()),
    retryAfterMs: Type.Optional(Type.Integer({ description: 'Of a rate: when it may be sent again' })),
    attempts: Type.Optional(Type.Integer()),
    requestId: Type.Optional(Type.String({ description: 'By which the log of the server has the details' })),
  },
  { title: 'Problem' },
);
