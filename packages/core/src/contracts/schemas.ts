/**
 * Schemas of event payloads, from any library that implements Standard Schema version 1 (https://standardschema.dev).
 */

/** One reason why a value does not fit a schema. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The result of a validation: the parsed value, or the issues. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** A schema of zod, valibot, arktype or another library. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** The schema of the payload of each event type. */
export type EventSchemas = Readonly<Record<string, StandardSchema>>;

/** The payload that writers pass. Differs from `OutputOf` if the schema converts values. */
export type InputOf<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['input'];
/** The payload that readers get. */
export type OutputOf<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['output'];
