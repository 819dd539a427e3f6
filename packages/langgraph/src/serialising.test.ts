/** The serialiser writes the bytes that LangGraph's own writes, and reads the values that it reads. */
import { Document } from '@langchain/core/documents';
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages';
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { MemorySaver, type SerializerProtocol } from '@langchain/langgraph-checkpoint';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Serialiser } from './serialising.ts';

const { serde } = new MemorySaver();
const ours = new Serialiser({ serde }, false);

/** Counts the values that are left to LangGraph's serialiser. */
function counting(): { serialiser: Serialiser; counts: { dumps: number; loads: number } } {
  const counts = { dumps: 0, loads: 0 };
  const counted: SerializerProtocol = {
    dumpsTyped: (value) => {
      counts.dumps += 1;
      return serde.dumpsTyped(value);
    },
    loadsTyped: (type, bytes) => {
      counts.loads += 1;
      return serde.loadsTyped(type, bytes);
    },
  };
  return { serialiser: new Serialiser({ serde: counted }, false), counts };
}

async function expectSame(value: unknown): Promise<void> {
  const [type, bytes] = await serde.dumpsTyped(value);
  const frame = await ours.dump(value);
  expect(frame.type).toBe(type);
  expect(Buffer.from(frame.bytes).toString()).toBe(Buffer.from(bytes).toString());
  const [read, wanted] = [await ours.load(frame), await serde.loadsTyped(type, bytes)];
  expect(read).toEqual(wanted);
  expect(classesOf(read)).toEqual(classesOf(wanted));
}

/** Returns the class of each object in a value. */
function classesOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return typeof value;
  const members = Object.entries(value).map(([name, member]) => [name, classesOf(member)]);
  return [Object.getPrototypeOf(value)?.constructor?.name, members];
}

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('"lc"', '{"lc":1}', '\ud800', '\0', '__proto__', 'constructor', '"lc":2,"type":"undefined"'),
);
const message: fc.Arbitrary<BaseMessage> = fc
  .record({
    kind: fc.constantFrom('human', 'ai', 'chunk', 'tool', 'system', 'remove'),
    content: fc.oneof(
      text,
      fc.array(
        text.map((it) => ({ type: 'text' as const, text: it })),
        { maxLength: 2 },
      ),
    ),
    id: fc.option(text, { nil: undefined }),
    extra: fc.dictionary(fc.constantFrom('a', 'lc', 'snake_case', 'camelCase', 'id'), fc.jsonValue()),
  })
  .map(({ kind, content, id, extra }) => {
    const fields = { content, additional_kwargs: extra, response_metadata: extra, ...(id !== undefined && { id }) };
    const calls = [{ name: 'look', args: extra, id: 'call-1', type: 'tool_call' as const }];
    if (kind === 'ai') return new AIMessage({ ...fields, tool_calls: calls });
    if (kind === 'chunk') return new AIMessageChunk({ ...fields, content: String(content) });
    if (kind === 'tool') return new ToolMessage({ ...fields, tool_call_id: 'call-1', artifact: extra });
    if (kind === 'system') return new SystemMessage(fields);
    if (kind === 'remove') return new RemoveMessage({ id: id ?? 'all' });
    return new HumanMessage({ ...fields, name: 'ada' });
  });
const plain = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    message,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(text, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;
const special = fc.constantFrom<() => unknown>(
  () => undefined,
  () => new Set([1, 'a']),
  () => new Map([['a', { b: 1 }]]),
  () => /x/gi,
  () => new Error('failed'),
  () => new Date(0),
  () => Uint8Array.of(1, 2),
  () => new Document({ pageContent: 'text' }),
  () => ChatPromptTemplate.fromMessages([['human', 'Hello']]),
  () => Object.create({ inherited: 1 }) as unknown,
  () => Object.assign(Object.create(null) as object, { a: 1 }),
  () => ({ toJSON: () => 'own' }),
  () => ({ lg_name: 'Send', node: 'next', args: [1] }),
  () => ({ lc: 2, type: 'undefined' }),
  () => ({ lc: 1, type: 'secret', id: ['KEY'] }),
  () => ({ __lc_escaped__: { lc: 1 } }),
  () => ({ __lc_escaped__: { a: 1 } }),
  () => Object.defineProperty({ a: 1 }, 'toJSON', { value: () => new Set([1]) }),
  () => Object.defineProperty({}, '__proto__', { value: new HumanMessage('Hello'), enumerable: true }),
  () => JSON.parse('{"__proto__":{"a":1}}') as unknown,
  () => JSON.parse('{"__proto__":[]}') as unknown,
  () => new Array(2),
  () => {
    const cycle: Record<string, unknown> = { a: 1 };
    cycle.self = cycle;
    return cycle;
  },
);

describe('the bytes and values are those of LangGraph’s serialiser', () => {
  it('for plain JSON and messages', async () => {
    await fc.assert(fc.asyncProperty(plain, expectSame), { numRuns: 1_000, seed: 7 });
  });

  it('for other values, alone and among messages', async () => {
    const mixed = fc.tuple(special, fc.array(message, { maxLength: 3 }), plain);
    await fc.assert(
      fc.asyncProperty(mixed, async ([make, messages, value]) => {
        await expectSame(make());
        await expectSame({ messages: [...messages, make()], value });
      }),
      { numRuns: 500, seed: 7 },
    );
  });

  it('for deep values', async () => {
    for (const depth of [10, 39, 40, 41, 49, 50, 51, 200]) {
      let value: unknown = [new HumanMessage('deep')];
      for (let level = 0; level < depth; level++) value = level % 2 ? [value] : { value };
      await expectSame(value);
    }
  });
});

it('leaves no plain values and messages to LangGraph’s serialiser, and all others', async () => {
  const { serialiser, counts } = counting();
  const state = {
    messages: [new HumanMessage('Hello'), new AIMessage('Hi')],
    topic: 'tides',
    n: 1,
    list: [{ a: null }],
  };
  expect(await serialiser.load(await serialiser.dump(state))).toEqual(await ours.load(await ours.dump(state)));
  expect(counts).toEqual({ dumps: 0, loads: 0 });
  expect(await serialiser.load(await serialiser.dump({ seen: new Set(['a']) }))).toEqual({ seen: new Set(['a']) });
  expect(counts).toEqual({ dumps: 1, loads: 1 });
});

it('leaves everything to a serialiser of the user, and to one that replaces LangGraph’s', async () => {
  const calls: string[] = [];
  const custom: SerializerProtocol = {
    dumpsTyped: async () => {
      calls.push('dump');
      return ['json', Buffer.from('{}')];
    },
    loadsTyped: async () => {
      calls.push('load');
      return 'custom';
    },
  };
  const owner = { serde };
  const replaced = new Serialiser(owner, false);
  owner.serde = custom;
  for (const serialiser of [new Serialiser({ serde: custom }, true), replaced]) {
    expect(await serialiser.load(await serialiser.dump({ a: 1 }))).toBe('custom');
  }
  expect(calls).toEqual(['dump', 'load', 'dump', 'load']);
});
