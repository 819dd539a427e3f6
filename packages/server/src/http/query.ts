/** Query parameters: text, numbers, booleans and JSON, according to the schema of the route. */
import { invalidArgument, parseJsonText } from '@tidemark/core';
import { JSON_PARAMETER } from '@tidemark/wire/routes';
import type { TObject, TSchema } from 'typebox';
import { shortName } from '../redaction.ts';

/**
 * Parses the declared parameters of a query and rejects others, so that typos are noticed. `renamed` maps the names of
 * older versions.
 */
export function parseQuery(
  text: string,
  schema: TObject,
  renamed: ReadonlyMap<string, string> | null = null,
): Record<string, unknown> {
  const query: Record<string, unknown> = Object.create(null);
  for (const [given, value] of new URLSearchParams(text)) {
    const name = renamed?.get(given) ?? given;
    const declared = Object.hasOwn(schema.properties, name) ? (schema.properties[name] as TSchema) : undefined;
    if (!declared)
      throw invalidArgument(shortName(name), `one of ${Object.keys(schema.properties).join(', ') || 'no parameters'}`);
    if (declaredType(declared) === 'array') {
      const items = (declared as unknown as { items: TSchema }).items;
      // A list parameter never has empty items, so an empty value represents the empty list.
      query[name] ??= [];
      if (value !== '') (query[name] as unknown[]).push(typedValue(value, items, name));
    } else if (name in query) throw invalidArgument(name, 'given once');
    else query[name] = typedValue(value, declared, name);
  }
  return query;
}

function declaredType(schema: TSchema): unknown {
  return (schema as { type?: unknown }).type;
}

function typedValue(value: string, schema: TSchema, name: string): unknown {
  if (JSON_PARAMETER in schema) return parseJsonText(value, name);
  switch (declaredType(schema)) {
    case 'integer':
    case 'number':
      // The store checks that the number is an integer and in range, so that the error is the same over HTTP as for
      // local callers.
      return value.trim() === '' ? value : Number(value);
    case 'boolean':
      if (value === 'true' || value === 'false') return value === 'true';
      throw invalidArgument(name, 'true or false', value);
    default:
      return value;
  }
}
