/** Values that break naive stores, shared by the cases of all domains (GEN-4, GEN-5). */

/** JSON that engines are known to change. Parsed from text, so that `__proto__` is an ordinary key. */
export const POISON_PAYLOADS: readonly [name: string, json: string][] = [
  ['NUL characters', '{"text":"a\\u0000b","\\u0000":"key"}'],
  ['lone surrogates', '{"high":"\\ud800","low":"\\udfff","pair":"\\ud83c\\udf0a","\\ud801":1}'],
  [
    'prototype names',
    '{"__proto__":{"polluted":true},"constructor":{"prototype":1},"toString":"x","hasOwnProperty":0}',
  ],
  ['empty keys', '{"":{"":[{"":""}]}}'],
  ['key order', '{"b":1,"a":2,"10":3,"aa":4,"":5,"B":6}'],
  ['escapes', '{"quotes":"\\"\'`\\\\","lines":"\\r\\n\\t\\b\\f\\u2028\\u2029\\u0085\\u007f\\ufeff"}'],
  ['SQL and globs', '{"$1":"%s","?":"\'; DROP TABLE run_events; --","*":"{x}","a.b":"a->>b"}'],
  [
    'numbers',
    '{"max":9007199254740991,"min":-9007199254740991,"tiny":5e-324,"huge":1.7976931348623157e308,"f":0.1,"e":1e21}',
  ],
  ['empty containers', '{"o":{},"a":[],"n":null,"nested":[[],[{}],[null]]}'],
  ['normal forms', '{"\\u00e9":"e\\u0301","e\\u0301":"\\u00e9"}'],
  ['emoji and right to left', '{"👩‍👩‍👧":"🏴󠁧󠁢󠁷󠁬󠁳󠁿","\\u202eabc":"שלום"}'],
  [
    'look-alikes',
    '{"true":"true","null":"null","one":"1","date":"2026-02-16T09:30:00.000Z","$date":1,"base64":"AAAA"}',
  ],
];

/** Returns values that JSON would silently change or cannot represent. */
export function unrepresentable(): readonly [name: string, value: unknown][] {
  const cycle: Record<string, unknown> = {};
  cycle.self = { deeper: cycle };
  return [
    ['NaN', { n: Number.NaN }],
    ['Infinity', { n: [1, Number.POSITIVE_INFINITY] }],
    ['-Infinity', { n: { n: Number.NEGATIVE_INFINITY } }],
    ['a BigInt', { n: 1n }],
    ['a function', { f: () => 1 }],
    ['a symbol', { s: Symbol('s') }],
    ['a cycle', cycle],
    ['undefined in an array', { a: [1, undefined, 3] }],
    ['a Date', { d: new Date(0) }],
    ['a Map', { m: new Map([['a', 1]]) }],
    ['a Set', { s: new Set([1]) }],
    ['a typed array', { b: new Uint8Array(2) }],
    ['a class instance', { u: new URL('https://example.org') }],
  ];
}

/** Returns a value nested to `depth` levels, counting the outermost object. */
export function nestedTo(depth: number): Record<string, unknown> {
  let value: Record<string, unknown> = {};
  for (let level = 1; level < depth; level++) value = { d: value };
  return value;
}

/**
 * Ids that collide on engines that encode, fold, trim or match them carelessly. All are different and all are valid.
 */
export const HOSTILE_IDS: readonly string[] = [
  'a',
  'A',
  'a ',
  ' a',
  'a\t',
  'a\n',
  'a:b',
  'a_b',
  'a%3Ab',
  'a%3ab',
  'a.b',
  'a..b',
  '.',
  '..',
  './a',
  '../a',
  'a/b',
  'a//b',
  'a\\b',
  'a|b',
  'a*',
  'a?',
  'a[b]',
  'a>',
  '*',
  '>',
  '{a}',
  '{a',
  'a}',
  '}{',
  'r',
  'rx',
  'r%',
  'r_',
  'r*',
  "r'",
  'r"',
  'r`',
  'r;--',
  'r,s',
  'r=s',
  'r&s',
  'r#s',
  'r+s',
  'r s',
  'r%20s',
  'r%2Bs',
  '%00',
  '%',
  '%25',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'undefined',
  '0',
  '00',
  '-1',
  'é',
  'e\u0301',
  'ß',
  'ss',
  'İ',
  'i',
  'ﬁ',
  'fi',
  '🌊',
  '🌊\ufe0f',
  '\u200b',
  '\u200ba',
  '\ufeffa',
  '\u202ea',
  '\uffff',
  '\u{10000}',
  '\u{10ffff}',
  '\u0001',
  '\u007f',
  '\u0085',
];

/** The longest id, in one-byte and in four-byte characters. */
export const MAX_IDS: readonly string[] = ['x'.repeat(512), '🌊'.repeat(128), `${'é'.repeat(255)}xx`];

/** Values that are not valid ids. */
export const INVALID_IDS: readonly [name: string, value: unknown][] = [
  ['empty', ''],
  ['NUL', 'a\0b'],
  ['a lone high surrogate', 'a\ud800'],
  ['a lone low surrogate', '\udc00a'],
  ['513 bytes', 'x'.repeat(513)],
  ['513 bytes in few characters', `${'🌊'.repeat(128)}x`],
  ['a number', 7],
  ['null', null],
  ['an object', {}],
];
