/**
 * The keys under a prefix as a tree of their dot-separated names. A branch is read from the store when it is opened.
 * The count of a branch is marked as incomplete until all keys of the branch have been read.
 */
import { computed, signal } from '@preact/signals';
import type { WireChange } from '@tidemark/wire';
import type { Tenant } from '../live/tenant.ts';
import { scanRecords } from './api.ts';

const PAGE = 1_000;
/** The number of keys that are read before the user has to request more. */
const CHUNK = 10_000;
const CHANGED_MS = 2_500;
const DEBOUNCE_MS = 200;

interface Branch {
  /** The keys read so far, in the store's order. */
  keys: ReadonlySet<string>;
  isComplete: boolean;
  isLoading: boolean;
  error?: unknown;
  /** The cursor of the next page. */
  cursor?: string | undefined;
}

export type TreeRow =
  | { kind: 'branch'; prefix: string; name: string; depth: number; count: number; isComplete: boolean; isOpen: boolean }
  | { kind: 'key'; key: string; name: string; depth: number }
  | { kind: 'more'; prefix: string; depth: number; count: number; isLoading: boolean; error?: unknown };

const UNREAD: Branch = { keys: new Set(), isComplete: false, isLoading: false };

export class KvTree {
  readonly root: string;
  readonly #tenant: Tenant;
  /** Aborts the current requests. Replaced on each reload. */
  #asking = new AbortController();
  readonly #branches = signal<ReadonlyMap<string, Branch>>(new Map());
  readonly #open = signal<ReadonlySet<string>>(new Set());
  /** Recently changed keys. */
  readonly changed = signal<ReadonlySet<string>>(new Set());
  #pending: WireChange[] = [];
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();

  constructor(root: string, tenant: Tenant) {
    this.root = root;
    this.#tenant = tenant;
    this.open(root);
  }

  readonly rows = computed(() => this.#rowsUnder(this.root, 0));

  /** The root branch. */
  readonly whole = computed(() => this.#branches.value.get(this.root) ?? UNREAD);

  open(prefix: string): void {
    this.#open.value = new Set([...this.#open.value, prefix]);
    if (!this.#branches.value.has(prefix)) void this.readOn(prefix);
  }

  toggle(prefix: string): void {
    if (this.#open.value.has(prefix)) this.#open.value = new Set([...this.#open.value].filter((it) => it !== prefix));
    else this.open(prefix);
  }

  /** Opens all branches above a key. */
  reveal(key: string): void {
    if (!key.startsWith(this.root)) return;
    for (let dot = key.indexOf('.', this.root.length); dot >= 0; dot = key.indexOf('.', dot + 1))
      if (dot < key.length - 1) this.open(key.slice(0, dot + 1));
  }

  /** Reads the next keys of a branch. */
  async readOn(prefix: string): Promise<void> {
    const before = this.#branches.value.get(prefix) ?? UNREAD;
    if (before.isLoading || before.isComplete) return;
    const { signal } = this.#asking;
    this.#set(prefix, { isLoading: true, error: undefined });
    const enough = before.keys.size + CHUNK;
    try {
      for (let cursor = before.cursor, size = 0; size < enough; ) {
        const page = await scanRecords(prefix, { cursor, limit: PAGE }, this.#tenant, signal);
        if (signal.aborted) return;
        cursor = page.next;
        const keys = new Set([
          ...(this.#branches.value.get(prefix) ?? UNREAD).keys,
          ...page.items.map(({ key }) => key),
        ]);
        size = keys.size;
        this.#set(prefix, { keys, cursor, isComplete: cursor === undefined });
        if (cursor === undefined) break;
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#set(prefix, { error });
    }
    this.#set(prefix, { isLoading: false });
  }

  /** Queues a change; changes in quick succession are applied together. */
  receive(change: WireChange): void {
    this.#pending.push(change);
    if (this.#pending.length === 1) this.#later(DEBOUNCE_MS, () => this.#applyPending());
  }

  /** Reads all open branches again. */
  reload(): void {
    this.#asking.abort();
    this.#asking = new AbortController();
    this.#branches.value = new Map();
    for (const prefix of this.#open.value) void this.readOn(prefix);
  }

  close(): void {
    this.#asking.abort();
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #applyPending(): void {
    const changes = this.#pending.splice(0);
    const branches = new Map(this.#branches.value);
    for (const [prefix, branch] of branches) {
      const below = changes.filter(({ key }) => key.startsWith(prefix));
      const hasChanged = below.some(({ key, record }) => branch.keys.has(key) === (record === null));
      if (!hasChanged) continue;
      const keys = new Set(branch.keys);
      for (const { key, record } of below) record === null ? keys.delete(key) : keys.add(key);
      branches.set(prefix, { ...branch, keys });
    }
    this.#branches.value = branches;
    const keys = changes.map(({ key }) => key);
    this.changed.value = new Set([...this.changed.value, ...keys]);
    this.#later(CHANGED_MS, () => {
      this.changed.value = new Set([...this.changed.value].filter((key) => !keys.includes(key)));
    });
  }

  #later(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
  }

  #set(prefix: string, changes: Partial<Branch>): void {
    const branch = { ...(this.#branches.value.get(prefix) ?? UNREAD), ...changes };
    this.#branches.value = new Map(this.#branches.value).set(prefix, branch);
  }

  #rowsUnder(prefix: string, depth: number): TreeRow[] {
    const branch = this.#branches.value.get(prefix) ?? UNREAD;
    const rows: TreeRow[] = [];
    const entries = [...entriesOf(prefix, branch.keys)];
    for (const [at, entry] of entries.entries()) {
      if (entry.kind === 'key') {
        rows.push({ ...entry, depth });
        continue;
      }
      // The last entry may have further keys that have not been read.
      const own = this.#branches.value.get(entry.prefix);
      const isRead = own !== undefined && own.keys.size >= entry.count;
      const isComplete = isRead ? own.isComplete : branch.isComplete || at < entries.length - 1;
      const isOpen = this.#open.value.has(entry.prefix);
      rows.push({ ...entry, depth, count: isRead ? own.keys.size : entry.count, isComplete, isOpen });
      if (isOpen) rows.push(...this.#rowsUnder(entry.prefix, depth + 1));
    }
    const { isComplete, isLoading, error } = branch;
    if (!isComplete) rows.push({ kind: 'more', prefix, depth, count: branch.keys.size, isLoading, error });
    return rows;
  }
}

type Entry =
  | { kind: 'branch'; prefix: string; name: string; count: number }
  | { kind: 'key'; key: string; name: string };

/** Groups the keys under a prefix by their next name, in order. */
function entriesOf(prefix: string, keys: Iterable<string>): Iterable<Entry> {
  const start = prefix.lastIndexOf('.') + 1;
  const entries = new Map<string, Entry>();
  for (const key of [...keys].sort()) {
    const dot = key.indexOf('.', prefix.length);
    const isBranch = dot >= 0 && dot < key.length - 1;
    const name = isBranch ? key.slice(0, dot + 1) : key;
    const known = entries.get(`${isBranch} ${name}`);
    if (known?.kind === 'branch') known.count++;
    else if (isBranch) entries.set(`true ${name}`, { kind: 'branch', prefix: name, name: name.slice(start), count: 1 });
    else entries.set(`false ${name}`, { kind: 'key', key, name: key.slice(start) || key });
  }
  return entries.values();
}
