/** `defineEvents`: checks payloads on writes and reads with schemas of any Standard Schema library. */
import { checkId, checkObject } from '../checks/text.ts';
import { invalidArgument, TidemarkError } from '../contracts/errors.ts';
import type { EventDefinitions, RunEventRecord, TypedEvent } from '../contracts/run-events.ts';
import type { EventSchemas, SchemaIssue, SchemaResult, StandardSchema } from '../contracts/schemas.ts';

/**
 * Defines typed events with a schema each, for handles and projections. Payloads are stored as passed; readers receive
 * the output of the schema. Event types without a schema and redacted events are not checked.
 *
 * @throws `INVALID_ARGUMENT` for a value that is not a Standard Schema of version 1. Appends and reads throw
 * `INVALID_PAYLOAD` for a payload that does not fit its schema.
 *
 * @example
 * const Order = defineEvents({ OrderPlaced: z.object({ cents: z.number() }) });
 * await store.runs.handle('order-42', { events: Order }).append('OrderPlaced', { cents: 1299 });
 */
export function defineEvents<S extends EventSchemas>(schemas: S): EventDefinitions<S> {
  for (const [eventType, schema] of Object.entries(checkObject(schemas, 'schemas'))) {
    checkId(eventType, 'schemas (name)');
    if (!isSchema(schema)) throw invalidArgument(`schemas.${eventType}`, 'a Standard Schema of version 1', schema);
  }
  const parse = (eventType: string, payload: unknown, at?: RunEventRecord) => {
    if (!Object.hasOwn(schemas, eventType)) return payload;
    const result = schemas[eventType]!['~standard'].validate(payload);
    return result instanceof Promise
      ? result.then((it) => acceptResult(it, eventType, at))
      : acceptResult(result, eventType, at);
  };
  return {
    schemas,
    parsePayload: (eventType, payload) => parse(eventType, payload),
    parseEvent(event) {
      // A redacted event has no payload, so it cannot match a schema.
      if (event.redacted || !Object.hasOwn(schemas, event.eventType)) return event as unknown as TypedEvent<S>;
      const withPayload = (payload: unknown) => ({ ...event, payload }) as unknown as TypedEvent<S>;
      const payload = parse(event.eventType, event.payload, event);
      return payload instanceof Promise ? payload.then(withPayload) : withPayload(payload);
    },
  };
}

function isSchema(schema: unknown): schema is StandardSchema {
  // In some libraries, schemas are functions.
  if ((typeof schema !== 'object' || schema === null) && typeof schema !== 'function') return false;
  const standard = (schema as Partial<StandardSchema>)['~standard'];
  return standard?.version === 1 && typeof standard.validate === 'function';
}

function acceptResult<T>(result: SchemaResult<T>, eventType: string, at: RunEventRecord | undefined): T {
  if (!result.issues) return result.value;
  const [issue] = result.issues;
  const field = issuePath(issue);
  const rule = issue?.message ?? 'what its schema says';
  const where = at ? ` Event ${at.runSeq} of run ${JSON.stringify(at.runId)} is stored otherwise.` : '';
  throw new TidemarkError('INVALID_PAYLOAD', `${field} of ${eventType} does not fit its schema: ${rule}.${where}`, {
    field,
    rule,
    ...(at && { runId: at.runId, runSeq: at.runSeq }),
  });
}

function issuePath(issue: SchemaIssue | undefined): string {
  return (issue?.path ?? []).reduce<string>((path, step) => {
    const key = typeof step === 'object' ? step.key : step;
    return typeof key === 'number' ? `${path}[${key}]` : `${path}.${String(key)}`;
  }, 'payload');
}
