/** Checks that the table of routes agrees with the query encoder and the problem parser, which do not use the table. */
import { describe, expect, it } from 'vitest';
import { PROBLEM_DETAILS } from '../problems.ts';
import { queryOf } from '../query.ts';
import { targetWith } from '../target.ts';
import { JSON_PARAMETER, Problem, ROUTES, type RouteDeclaration, type RouteName } from './index.ts';

const TABLE = Object.entries(ROUTES) as [RouteName, RouteDeclaration][];

/** A sample value of each kind of parameter. */
const SAMPLES: Record<string, { value: unknown; text: string; wrong: unknown }> = {
  integer: { value: 7, text: '7', wrong: '7' },
  number: { value: 7, text: '7', wrong: '7' },
  boolean: { value: true, text: 'true', wrong: 'true' },
  array: { value: ['a', 'b'], text: 'a', wrong: '' },
  json: { value: { a: 'b' }, text: '%7B%22a%22%3A%22b%22%7D', wrong: 'text' },
  string: { value: 'text', text: 'text', wrong: {} },
  // Text that names a number, or `new`.
  life: { value: 7, text: '7', wrong: '7' },
};

function kindOf(schema: object): string {
  return JSON_PARAMETER in schema ? 'json' : ((schema as { type?: string }).type ?? 'json');
}

/** Parameters that clients send in the body of another route or do not send at all. */
const UNSENT = new Set(['filter', 'source']);

const PARAMETERS = new Map(
  TABLE.flatMap(([, { query }]) => Object.entries((query?.properties ?? {}) as Record<string, object>)).map(
    ([name, schema]) => [`${name}: ${kindOf(schema)}`, { name, kind: kindOf(schema) }],
  ),
);

describe('the table of routes', () => {
  it('uses one type per parameter name', () => {
    expect(new Set([...PARAMETERS.values()].map(({ name }) => name)).size).toBe(PARAMETERS.size);
  });

  it.each([...PARAMETERS.values()].filter(({ name }) => !UNSENT.has(name)))(
    'declares $name as $kind, and the client encodes it that way',
    ({ name, kind }) => {
      const { value, text, wrong } = SAMPLES[name] ?? SAMPLES[kind]!;
      expect(queryOf({ [name]: value })).toContain(`${name}=${text}`);
      expect(() => queryOf({ [name]: wrong })).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    },
  );

  it('has paths that targetWith fills by parameter name', () => {
    for (const [name] of TABLE) {
      const params = Object.fromEntries([...name.matchAll(/\{(\w+)\}/g)].map(([, it]) => [it, `<${it}>`]));
      const { method, path } = targetWith(name, params as never);
      expect(`${method} ${decodeURIComponent(path).replaceAll('<', '{').replaceAll('>', '}')}`).toBe(name);
    }
  });

  it('describes every detail of a problem', () => {
    expect(Object.keys(Problem.properties)).toEqual(expect.arrayContaining([...PROBLEM_DETAILS]));
  });
});
