/**
 * Makes a target match its source (COPY-1). Records which items copies write, repeats erasures of sessions, and with
 * `mirror` removes items that an earlier copy wrote and the source no longer has. All other items of the target are
 * kept and reported.
 */
import type { TenantPart } from '@tidemark/core';
import { erasureMarkOf } from '@tidemark/core/engine';
import { type Ended, GROUPS, type Group, type Item, SESSIONS, type TenantStore } from './groups.ts';
import { sideBySide } from './joins.ts';
import { type Entry, Manifest } from './manifest.ts';
import { COPY_MARKS } from './marks.ts';
import type { Difference, Sides } from './unit.ts';

const APPLIED = `${COPY_MARKS}erased.`;
const APPLIED_TTL = '40d';

/** A difference that remains after a copy. */
export interface GroupDifference extends Difference {
  part: TenantPart;
  id: string;
}

export class Mirror {
  readonly #sides: Sides;
  readonly #from: TenantStore;
  readonly #to: TenantStore;
  readonly #groups: readonly Group[];
  readonly #removes: boolean;
  /** Sessions that this copy has already erased in the target. */
  readonly #erased = new Map<string, Promise<boolean>>();

  constructor(sides: Sides, parts: readonly TenantPart[], removes: boolean) {
    this.#sides = sides;
    this.#from = { store: sides.from, tenantId: sides.tenantId };
    this.#to = { store: sides.to, tenantId: sides.tenantId };
    this.#groups = GROUPS.filter((group) => group.parts.some((part) => parts.includes(part)));
    this.#removes = removes;
  }

  /** Runs before the copy. Repeats erasures, and records what the copy is about to write. */
  async begin(): Promise<void> {
    if (!this.#sides.to.info.capabilities.kv) return;
    for (const group of this.#groups) {
      const manifest = this.#manifestOf(group);
      await this.#sides.send(async () => {
        if (group === SESSIONS) for await (const { id } of manifest.entries()) await this.#followErasure(id);
        await manifest.write(this.#noted(group, manifest));
      });
    }
  }

  /**
   * Yields the items that earlier copies wrote, and the items that this copy will write because only the source has
   * them.
   */
  async *#noted(group: Group, manifest: Manifest): AsyncGenerator<Entry> {
    for await (const { id, entry, ours, theirs } of this.#rows(group, manifest)) {
      if (entry) yield entry;
      else if (ours && !theirs) yield { id, stamp: null };
    }
  }

  /** Runs after the copy. Removes items that are gone from the source, and returns their number by part. */
  async finish(): Promise<Map<TenantPart, number>> {
    const removed = new Map<TenantPart, number>();
    if (!this.#sides.to.info.capabilities.kv) return removed;
    if (this.#removes && this.#sides.isGone && (await this.#eraseTenant(removed))) return removed;
    for (const group of this.#groups) {
      const manifest = this.#manifestOf(group);
      let count = 0;
      await this.#sides.send(async () => {
        for await (const { entry, ours, theirs, ended } of this.#rows(group, manifest))
          if (entry && !ours && theirs && (await this.#removeGone(group, entry, theirs, ended))) count++;
      });
      if (count > 0) removed.set(group.parts[0]!, count);
      await this.#sides.send(() => manifest.write(this.#kept(group, manifest)));
    }
    return removed;
  }

  /** Erases a tenant that is gone from the source, if copies wrote all of its data in the target. */
  async #eraseTenant(removed: Map<TenantPart, number>): Promise<boolean> {
    if (this.#groups.length < GROUPS.length) return false;
    for (const group of this.#groups)
      for await (const { entry, theirs } of this.#rows(group, this.#manifestOf(group)))
        if (theirs && !isUntouched(entry, theirs)) return false;
    const { to, tenantId } = this.#sides;
    const report = await to.admin.eraseTenant(tenantId);
    for (const [part, count] of Object.entries(report.removed)) removed.set(part as TenantPart, count);
    return true;
  }

  /**
   * Yields the items of this and earlier copies that are in the target. Items that are gone from the source keep their
   * old stamp.
   */
  async *#kept(group: Group, manifest: Manifest): AsyncGenerator<Entry> {
    for await (const { id, entry, ours, theirs } of this.#rows(group, manifest))
      if (entry && theirs) yield { id, stamp: ours ? theirs.stamp : entry.stamp };
  }

  async #removeGone(group: Group, entry: Entry, theirs: Item, ended: Ended | null): Promise<boolean> {
    const sessionId = (await group.sessionOf?.(this.#to, theirs.id)) ?? null;
    if (sessionId !== null && (await this.#followErasure(sessionId))) return true;
    if (!isUntouched(entry, theirs)) return false;
    if (ended && group.endAlike) return group.endAlike(this.#to, theirs, ended, this.#removes);
    return this.#removes && group.remove(this.#to, theirs);
  }

  /**
   * Erases a session in the target if the session was erased in the source after the last copy. Returns whether this
   * copy erased it.
   */
  #followErasure(sessionId: string): Promise<boolean> {
    const known = this.#erased.get(sessionId) ?? this.#sides.send(() => this.#eraseAlike(sessionId));
    this.#erased.set(sessionId, known);
    return known;
  }

  async #eraseAlike(sessionId: string): Promise<boolean> {
    const { from, to, tenantId } = this.#sides;
    if (!from.info.capabilities.kv) return false;
    const mark = erasureMarkOf(sessionId);
    const applied = APPLIED + mark;
    const at = await from.kv.getField(mark, 'at');
    if (at === null) return false;
    const before = await to.kv.getField(applied, 'at');
    if (before !== null && Buffer.compare(before, at) === 0) return false;
    await to.admin.eraseSession(sessionId, { tenantId });
    await to.kv.put(applied, { at }, { ttl: APPLIED_TTL });
    return true;
  }

  /** Returns items that exist only in the target. Items that ended in the source are compared by their own units. */
  async extras(): Promise<GroupDifference[]> {
    const found: GroupDifference[] = [];
    for (const group of this.#groups) found.push(...(await this.#sides.send(() => this.#extrasOf(group))));
    return found;
  }

  async #extrasOf(group: Group): Promise<GroupDifference[]> {
    const found: GroupDifference[] = [];
    const lists = [group.items(this.#from), group.items(this.#to), endedIn(group, this.#from)] as const;
    for await (const { id, items } of sideBySide<[Item, Item, Ended]>(...lists)) {
      const [ours, theirs, ended] = items;
      if (!ours && theirs && !ended)
        found.push({ part: group.parts[0]!, id, count: 1, reason: 'only the target has it' });
    }
    return found;
  }

  async *#rows(group: Group, manifest: Manifest) {
    const lists = [
      manifest.entries(),
      group.items(this.#from),
      group.items(this.#to),
      endedIn(group, this.#from),
    ] as const;
    for await (const { id, items } of sideBySide<[Entry, Item, Item, Ended]>(...lists)) {
      const [entry, ours, theirs, ended] = items;
      yield { id, entry, ours, theirs, ended };
    }
  }

  #manifestOf({ name }: Group): Manifest {
    return new Manifest(this.#sides, name);
  }
}

/** Whether an item is unchanged since a copy wrote it. */
function isUntouched(entry: Entry | null, theirs: Item): boolean {
  return entry !== null && (entry.stamp === null || entry.stamp === theirs.stamp);
}

async function* endedIn(group: Group, of: TenantStore): AsyncGenerator<Ended> {
  if (group.ended) yield* group.ended(of);
}
