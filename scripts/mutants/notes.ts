/**
 * The notes that the test process appends for `switching.ts`, so that a new process continues where the previous one
 * stopped.
 */
import { appendFileSync, closeSync, openSync, readSync } from 'node:fs';

/** The error of a mutant that loops or waits forever. */
export const TIMED_OUT = 'timed out';

export type Note =
  /** A test begins, with a mutant or without. It may take `limitMs`. */
  | { kind: 'try'; test: string; id: number | null; limitMs: number }
  /** Mutants that were evaluated while files were loaded, where no switch was on. */
  | { kind: 'loaded'; ids: number[] }
  /** A test that evaluates these mutants passes without them. */
  | { kind: 'reached'; ids: number[] }
  | { kind: 'killed'; id: number; test: string; error: string }
  /** A mutant after which a test fails or never ends, even without the mutant. Only a new process can judge it. */
  | { kind: 'suspect'; id: number; test: string; hung: boolean }
  /** A test that fails without a mutant. */
  | { kind: 'excluded'; test: string; error: string }
  /** A test that has judged all mutants it evaluates. */
  | { kind: 'done'; test: string };

export function appendNote(path: string, note: Note): void {
  appendFileSync(path, `${JSON.stringify(note)}\n`);
}

/** Reads the notes that another process appends to a file. */
export class NoteReader {
  readonly #file: number;
  readonly #buffer: Buffer = Buffer.alloc(1 << 20);
  #left = '';

  constructor(path: string) {
    this.#file = openSync(path, 'a+');
  }

  /** Returns the notes since the last call. */
  next(): Note[] {
    const notes: Note[] = [];
    for (;;) {
      const read = readSync(this.#file, this.#buffer);
      if (read === 0) return notes;
      const lines = (this.#left + this.#buffer.toString('utf8', 0, read)).split('\n');
      this.#left = lines.pop()!;
      notes.push(...lines.map((line): Note => JSON.parse(line)));
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}
