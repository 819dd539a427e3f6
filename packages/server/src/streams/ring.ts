/** The latest changes of a source without history, kept so that a reader that reconnects can resume. */
import { randomBytes } from 'node:crypto';
import type { StreamItem, StreamPage } from './source.ts';

const MAX_ITEMS = 1_000;
const MAX_CHARACTERS = 4_000_000;

export class Ring {
  /** Distinguishes the cursors of this ring from cursors of other rings and of earlier server processes. */
  readonly #epoch = randomBytes(6).toString('base64url');
  readonly #items: StreamItem[] = [];
  #first = 0;
  #characters = 0;

  push(event: string, data: string): void {
    const cursor = this.#cursorAt(this.#first + this.#items.length + 1);
    this.#items.push({ cursor, event, data });
    this.#characters += data.length;
    while (this.#items.length > MAX_ITEMS || (this.#characters > MAX_CHARACTERS && this.#items.length > 1)) {
      this.#characters -= this.#items.shift()!.data.length;
      this.#first++;
    }
  }

  /** Returns the items after a cursor, or an empty page if no cursor is given. */
  read(after: string | null): StreamPage {
    const end = this.#first + this.#items.length;
    if (after === null) return { items: [], cursor: this.#cursorAt(end) };
    const [epoch, count] = after.split('.', 2);
    const position = Number(count);
    if (epoch !== this.#epoch || !(position >= this.#first && position <= end)) {
      return { items: [], cursor: this.#cursorAt(end), isReset: true };
    }
    const items = this.#items.slice(position - this.#first);
    return { items, cursor: items.at(-1)?.cursor ?? after };
  }

  #cursorAt(count: number): string {
    return `${this.#epoch}.${count}`;
  }
}
