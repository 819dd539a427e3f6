/**
 * Serialises values as LangGraph does, but faster. LangGraph's serialiser calls a function for each member of a value
 * that it writes, creates several promises for each member that it reads, and parses each message three times. Plain
 * JSON and chat messages, of which states mostly consist, are written and read in one pass here, with the same bytes
 * and the same values. All other values are left to the serialiser, and so is everything if it is not LangGraph's.
 */
import { load as loadMessages } from '@langchain/core/load';
import type { SerializerProtocol } from '@langchain/langgraph-checkpoint';
import type { Frame } from '@tidemark/core/adapters';

/** The member that marks special values. Within texts, JSON escapes its quotes. */
const MARK = '"lc"';
/** The beginning of a message in JSON. */
const MESSAGE = '{"lc":1,"type":"constructor","id":["langchain_core","messages",';
/** Members that the serialiser reads differently from `JSON.parse` or `load`. */
const OTHER_MEMBERS = ['"__proto__"', '"__lc_escaped__"'];
/** Deeper values are left to the serialiser: they may contain themselves. */
const MAX_DEPTH = 40;

/** Stands for a value that is left to the serialiser. */
const OTHER = Symbol('other');

/** Writes and reads the values of a saver. */
export class Serialiser {
  readonly #owner: { serde: SerializerProtocol };
  readonly #known: SerializerProtocol | null;

  /** `owner` has the serialiser, which is LangGraph's own unless `isCustom`. */
  constructor(owner: { serde: SerializerProtocol }, isCustom: boolean) {
    this.#owner = owner;
    this.#known = isCustom ? null : owner.serde;
  }

  async dump(value: unknown): Promise<Frame> {
    const { serde } = this.#owner;
    const plain = serde === this.#known ? plainForm(value, 0) : OTHER;
    if (plain !== OTHER) return { type: 'json', bytes: Buffer.from(JSON.stringify(plain)) };
    const [type, bytes] = await serde.dumpsTyped(value);
    return { type, bytes };
  }

  async load({ type, bytes }: Frame): Promise<unknown> {
    const { serde } = this.#owner;
    if (type !== 'json' || serde !== this.#known) return serde.loadsTyped(type, bytes);
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
    const content = contentOf(text);
    if (content === 'plain') return JSON.parse(text);
    if (content === 'messages') {
      try {
        return await loadMessages(text);
      } catch {
        // The serialiser may accept the value, for example because it does not limit the depth.
      }
    }
    return serde.loadsTyped(type, bytes);
  }
}

/** Returns a value with the serialised form of its messages, or `OTHER` if it contains anything but messages and JSON. */
function plainForm(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean':
      return value;
    case 'object':
      if (value === null) return null;
      if (depth > MAX_DEPTH) return OTHER;
      return Array.isArray(value) ? plainList(value, depth) : plainObject(value as Record<string, unknown>, depth);
    default:
      return OTHER;
  }
}

function plainList(list: readonly unknown[], depth: number): unknown {
  let changed: unknown[] | null = null;
  for (let at = 0; at < list.length; at++) {
    const plain = plainForm(list[at], depth + 1);
    if (plain === OTHER) return OTHER;
    if (plain !== list[at]) changed ??= list.slice();
    if (changed) changed[at] = plain;
  }
  return changed ?? list;
}

function plainObject(value: Record<string, unknown>, depth: number): unknown {
  if (value.lc_serializable === true && typeof value.toJSON === 'function')
    return plainForm((value as { toJSON(): unknown }).toJSON(), depth + 1);
  if (Object.getPrototypeOf(value) !== Object.prototype || 'toJSON' in value || 'lg_name' in value) return OTHER;
  let changed: Record<string, unknown> | null = null;
  for (const name of Object.keys(value)) {
    const plain = plainForm(value[name], depth + 1);
    if (plain === OTHER) return OTHER;
    if (plain === value[name]) continue;
    changed ??= { ...value };
    changed[name] = plain;
  }
  return changed ?? value;
}

/** Returns what a JSON text contains besides plain values. */
function contentOf(text: string): 'plain' | 'messages' | 'other' {
  if (OTHER_MEMBERS.some((name) => text.includes(name))) return 'other';
  let content: 'plain' | 'messages' = 'plain';
  for (let at = text.indexOf(MARK); at !== -1; at = text.indexOf(MARK, at + 1)) {
    if (!text.startsWith(MESSAGE, at - 1)) return 'other';
    content = 'messages';
  }
  return content;
}
