/**
 * Drafts: a JSON state that handlers change in place and that reports every write. During a change, objects behave as
 * usual. When it ends, inserted objects are copied, so that the state is the same whether or not it was stored and read
 * back between two changes.
 */
import { isPlainObject } from '../checks/text.ts';
import { type Container, checkScalar, copyJson, isContainer, memberOf, writeMember } from './copy.ts';

/** Called for each write with the object and the member that was written or removed. */
export type WriteListener = (target: object, key: string) => void;

type ArrayMethod = (...args: unknown[]) => unknown;

const ROOT = 'state';

export class Draft {
  readonly #holder: { state: unknown };
  readonly #onWrite: WriteListener;
  readonly #drafts = new WeakMap<object, object>();
  readonly #raws = new WeakMap<object, Container>();
  /** The objects inserted during the current change, with their positions. */
  #incoming: { target: Container; key: string; value: unknown }[] = [];

  constructor(state: unknown, onWrite: WriteListener = () => {}) {
    this.#holder = { state: copyJson(state) };
    this.#onWrite = onWrite;
  }

  /** The object whose only member is the state. */
  get holder(): { state: unknown } {
    return this.#holder;
  }

  /** Runs `change`, which writes to the draft or returns a new state. After an error the draft must not be used. */
  apply(change: (state: unknown) => unknown): void {
    const next = this.#unwrap(change(this.#wrap(this.#holder.state)));
    this.#settle();
    const { state } = this.#holder;
    if (next === undefined || next === state) return;
    if (next instanceof Promise) throw new TypeError('A handler must not be asynchronous');
    // An arrow function without braces returns the value of its expression, for example the length after a push.
    if (isContainer(state) && !isContainer(next))
      throw new TypeError(`A handler returns a state or nothing, not a ${typeof next}`);
    this.#merge(this.#holder, ROOT, this.#freshParts(next, state));
  }

  #settle(): void {
    const incoming = this.#incoming;
    if (incoming.length === 0) return;
    this.#incoming = [];
    for (const { target, key, value } of incoming) {
      // The array may have been reordered since.
      const at =
        memberOf(target, key) === value ? key : Array.isArray(target) ? String(target.indexOf(value)) : undefined;
      if (at !== undefined && at !== '-1') writeMember(target, at, copyJson(value, this.#unwrap));
    }
  }

  /** Returns a copy of a returned state. Does not copy parts that did not move. */
  #freshParts(value: unknown, before: unknown): unknown {
    const next = this.#unwrap(value);
    if (next === before || !isContainer(next)) return next === before ? before : checkScalar(next);
    const isSameKind = isContainer(before) && Array.isArray(before) === Array.isArray(next);
    if (!isSameKind || !(Array.isArray(next) || isPlainObject(next))) return copyJson(next, this.#unwrap);
    if (Array.isArray(next)) return next.map((item, at) => this.#freshParts(item, memberOf(before, String(at))));
    const fresh: Record<string, unknown> = {};
    for (const key of Object.keys(next))
      if (next[key] !== undefined) writeMember(fresh, key, this.#freshParts(next[key], memberOf(before, key)));
    return fresh;
  }

  /** Writes only the members that differ, so that only those count as written. */
  #merge(target: Container, key: string, next: unknown): void {
    const before = memberOf(target, key);
    if (before === next) return;
    if (!isContainer(before) || !isContainer(next) || Array.isArray(before) !== Array.isArray(next)) {
      writeMember(target, key, next);
      this.#onWrite(target, key);
      return;
    }
    for (const member of Object.keys(before)) if (!Object.hasOwn(next, member)) this.#remove(before, member);
    if (Array.isArray(before)) before.length = Math.min(before.length, (next as unknown[]).length);
    for (const member of Object.keys(next)) this.#merge(before, member, memberOf(next, member));
  }

  #remove(target: Container, key: string): void {
    delete (target as Record<string, unknown>)[key];
    this.#onWrite(target, key);
  }

  readonly #unwrap = (value: unknown): unknown => (isContainer(value) ? (this.#raws.get(value) ?? value) : value);

  readonly #wrap = (value: unknown): unknown => {
    if (!isContainer(value)) return value;
    const known = this.#drafts.get(value);
    if (known) return known;
    const draft = new Proxy(value, this.#traps);
    this.#drafts.set(value, draft);
    this.#raws.set(draft, value);
    return draft;
  };

  readonly #traps: ProxyHandler<Container> = {
    get: (target, key) => {
      if (typeof key === 'string' && Object.hasOwn(target, key)) return this.#wrap(memberOf(target, key));
      if (Array.isArray(target) && MUTATING_METHODS.has(key as string)) return this.#arrayMethod(target, key as string);
      return Reflect.get(target, key);
    },
    set: (target, key, value) => this.#write(target, key, value),
    defineProperty: (target, key, { value }) => this.#write(target, key, value),
    deleteProperty: (target, key) => {
      if (Array.isArray(target)) return this.#write(target, key, null);
      if (typeof key === 'string' && Object.hasOwn(target, key)) this.#remove(target, key);
      return true;
    },
    setPrototypeOf: () => false,
  };

  #write(target: Container, key: string | symbol, value: unknown): boolean {
    if (typeof key !== 'string') throw new TypeError('State is plain JSON: it has no symbols');
    const raw = this.#unwrap(value);
    if (Array.isArray(target)) {
      if (key === 'length') return this.#truncate(target, raw);
      const at = Number(key);
      if (!(String(at) === key && at >= 0 && at <= target.length))
        throw new TypeError(`State is plain JSON: an array of ${target.length} has no place for ${key}`);
    } else if (raw === undefined) {
      if (Object.hasOwn(target, key)) this.#remove(target, key);
      return true;
    }
    this.#put(target, key, raw);
    return true;
  }

  #put(target: Container, key: string, raw: unknown): void {
    if (isContainer(raw)) this.#incoming.push({ target, key, value: raw });
    writeMember(target, key, isContainer(raw) ? raw : checkScalar(raw));
    this.#onWrite(target, key);
  }

  #truncate(target: unknown[], length: unknown): boolean {
    if (!Number.isInteger(length) || (length as number) > target.length)
      throw new TypeError(`State is plain JSON: an array of ${target.length} cannot be made ${length} long`);
    target.length = length as number;
    this.#onWrite(target, 'length');
    return true;
  }

  /** Returns a mutating array method that works on the raw array, so that moved elements keep their identity. */
  #arrayMethod(target: unknown[], name: string): ArrayMethod {
    const method = Array.prototype[name as 'push'] as ArrayMethod;
    return (...args) => {
      // `push` and `pop` move no other element. Skip the copy, or appending to a long list would cost its length.
      const from = name === 'push' || name === 'pop' ? target.length : 0;
      const before = from === 0 ? [...target] : [];
      const length = target.length;
      const compare = args[0] as ((a: unknown, b: unknown) => number) | undefined;
      const raws = name === 'sort' && compare ? [this.#wrapCompare(compare)] : args.map(this.#unwrap);
      const result = method.apply(target, raws);
      for (let at = Math.min(from, target.length); at < target.length; at++) {
        const item = target[at];
        if (at < length && before[at] === item) continue;
        if (isContainer(item) && !raws.includes(item)) this.#onWrite(target, String(at));
        else this.#put(target, String(at), item);
      }
      if (target.length !== length) this.#onWrite(target, 'length');
      return this.#wrap(result);
    };
  }

  #wrapCompare(compare: (a: unknown, b: unknown) => number) {
    return (a: unknown, b: unknown) => compare(this.#wrap(a), this.#wrap(b));
  }
}

const MUTATING_METHODS = new Set([
  'push',
  'pop',
  'shift',
  'unshift',
  'splice',
  'sort',
  'reverse',
  'fill',
  'copyWithin',
]);
