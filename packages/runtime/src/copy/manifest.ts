/**
 * Manifest of the items that earlier copies wrote, kept in records of the target. A mirror removes only listed items.
 * Ids are stored in pages in byte order. A new list is written next to the old one and replaces it once the new list is
 * complete. Until then both lists are used, so that all data written by an interrupted copy is listed.
 */
import type { KvStore } from '@tidemark/core';
import { sideBySide } from './joins.ts';
import { COPY_MARKS } from './marks.ts';
import type { Sides } from './unit.ts';

/**
 * An item that a copy wrote. `stamp` is the item's stamp in the target at that time, or `null` if the item has not been
 * read back yet.
 */
export interface Entry {
  id: string;
  stamp: string | null;
}

const PAGE = 400;
const DIGITS = 10;

export class Manifest {
  readonly #kv: KvStore;
  readonly #send: Sides['send'];
  readonly #prefix: string;

  constructor({ to, send }: Pick<Sides, 'to' | 'send'>, group: string) {
    this.#kv = to.kv;
    this.#send = send;
    this.#prefix = `${COPY_MARKS}manifest.${group}`;
  }

  /** Yields all entries in byte order of ids. If several lists have an id, the entry of the newest list is used. */
  async *entries(): AsyncGenerator<Entry, void, undefined> {
    const lists = (await this.#lists()).map((list) => this.#read(list));
    for await (const { items } of sideBySide<Entry[]>(...lists)) yield items.findLast((item) => item !== null)!;
  }

  /** Replaces the manifest with entries in byte order of ids. */
  async write(entries: AsyncIterable<Entry>): Promise<void> {
    const before = await this.#lists();
    const list = Math.max(0, ...before) + 1;
    // The list is registered first, because readers use it from its first page on.
    await this.#setLists([...before, list]);
    let [page, number]: [Entry[], number] = [[], 0];
    for await (const entry of entries) {
      page.push(entry);
      if (page.length < PAGE) continue;
      await this.#writePage(list, number++, page);
      page = [];
    }
    if (page.length > 0) await this.#writePage(list, number++, page);
    await this.#setLists(number === 0 ? [] : [list]);
    for (const old of before) await this.#remove(old);
  }

  async #lists(): Promise<number[]> {
    const lists = await this.#send(() => this.#kv.getField(this.#prefix, 'lists'));
    return lists === null ? [] : (JSON.parse(Buffer.from(lists).toString()) as number[]);
  }

  async #setLists(lists: readonly number[]): Promise<void> {
    if (lists.length === 0) await this.#send(() => this.#kv.delete(this.#prefix));
    else await this.#send(() => this.#kv.put(this.#prefix, { lists: JSON.stringify(lists) }));
  }

  async #writePage(list: number, number: number, page: readonly Entry[]): Promise<void> {
    const entries = JSON.stringify(page.map(({ id, stamp }) => [id, stamp]));
    const key = this.#pages(list) + String(number).padStart(DIGITS, '0');
    await this.#send(() => this.#kv.put(key, { entries }));
  }

  async *#read(list: number): AsyncGenerator<Entry, void, undefined> {
    for await (const { record } of this.#kv.scan(this.#pages(list))) {
      const entries = JSON.parse(Buffer.from(record.fields.entries!).toString()) as [string, string | null][];
      for (const [id, stamp] of entries) yield { id, stamp };
    }
  }

  async #remove(list: number): Promise<void> {
    for await (const { key } of this.#kv.scan(this.#pages(list))) await this.#send(() => this.#kv.delete(key));
  }

  #pages(list: number): string {
    return `${this.#prefix}.${String(list).padStart(DIGITS, '0')}.`;
  }
}
