/**
 * A file of checkpoints, to which lines of JSON are only ever appended. Each checkpoint has a first line, the points
 * that have changed since the previous checkpoint, and a signed line. Lines that no signed line follows are left over
 * from an interrupted write.
 */

import type { KeyObject } from 'node:crypto';
import { open, readFile, stat } from 'node:fs/promises';
import { CHECKPOINT_FORMAT, type Checkpoint, type RunPoint } from './format.ts';
import { CheckpointLog, type CheckpointTarget, overtaken } from './log.ts';

type Line = { begin: number } | { point: RunPoint } | Checkpoint;

export class CheckpointFile implements CheckpointTarget {
  readonly name: string;
  /** The number of bytes read so far, and whether they end with a complete line. */
  #size = 0;
  #endsWithLine = true;

  constructor(path: string) {
    this.name = path;
  }

  async version(): Promise<string> {
    const found = await stat(this.name).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    return found ? `${found.size} ${found.mtimeMs}` : 'none';
  }

  /** Reads the file. A missing file has no checkpoints. */
  async read(key: KeyObject): Promise<CheckpointLog> {
    const bytes = await readFile(this.name).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return Buffer.alloc(0);
      throw error;
    });
    const text = bytes.toString();
    this.#size = bytes.length;
    this.#endsWithLine = text === '' || text.endsWith('\n');
    const log = new CheckpointLog(this.name);
    let block: RunPoint[] | null = null;
    let isTorn = false;
    for (const line of text.split('\n')) {
      if (line === '') continue;
      const content = parsed(line);
      if (content === null) isTorn = true;
      else if ('begin' in content) [block, isTorn] = [[], false];
      else if ('point' in content) block?.push(content.point);
      else if (block === null || isTorn) throw log.damaged('a checkpoint has lost lines');
      else {
        log.add(content, block, key);
        block = null;
      }
    }
    return log;
  }

  /** Appends in one write. */
  async append(checkpoint: Checkpoint, changed: readonly RunPoint[], key: KeyObject): Promise<void> {
    const lines: Line[] = [{ begin: checkpoint.number }, ...changed.map((point) => ({ point })), checkpoint];
    const text = `${this.#endsWithLine ? '' : '\n'}${lines.map((line) => `${JSON.stringify(line)}\n`).join('')}`;
    const block = Buffer.from(text);
    const stored = Buffer.alloc(block.length);
    const file = await open(this.name, 'a+', 0o600);
    try {
      await file.appendFile(block);
      await file.sync();
      await file.read(stored, 0, stored.length, this.#size);
    } finally {
      await file.close();
    }
    // If the block directly follows the bytes that were read, no other program was faster. Otherwise, reading all
    // checkpoints again shows which one counts.
    if (stored.equals(block)) return;
    const { last } = await this.read(key);
    if (last?.signature !== checkpoint.signature) throw overtaken(this.name, checkpoint);
  }
}

function parsed(line: string): Line | null {
  try {
    const content = JSON.parse(line) as Line | null;
    if (typeof content !== 'object' || content === null) return null;
    return 'begin' in content || 'point' in content || content.format === CHECKPOINT_FORMAT ? content : null;
  } catch {
    return null;
  }
}
