/** Schemas of event payloads, from any library that speaks Standard Schema, version 1 (https://standardschema.dev). */

/** One thing a schema has to say against a value. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** What zod, valibot, arktype and others give. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** A schema for the payload of each event type. */
export type EventSchemas = Readonly<Record<string, StandardSchema>>;

/** What a writer passes and what a reader gets: they differ where a schema converts. */
export type InputOf<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['input'];
export type OutputOf<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['output'];
