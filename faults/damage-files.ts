/**
 * Damages a copy of files in the way disks do: a flipped bit, or a page of 4 KiB that is half zeroed or replaced by an
 * older version.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Random } from './random.ts';

export const PAGE = 4_096;

export type Damage = 'flip' | 'zeroed' | 'older';

/** A file and, if there is one, its older version. */
export interface Target {
  path: string;
  older?: Buffer;
}

/** Damages one of the files. Returns a description, or `null` if nothing would change. */
export function damageOne(targets: readonly Target[], kind: Damage, random: Random): string | null {
  const target = targets[random.between(0, targets.length)]!;
  const bytes = readFileSync(target.path);
  if (bytes.length === 0) return null;
  const before = Buffer.from(bytes);
  let at = random.between(0, bytes.length);
  if (kind === 'flip') bytes[at]! ^= 1 << random.between(0, 8);
  else {
    at -= at % PAGE;
    if (kind === 'zeroed') bytes.fill(0, at + PAGE / 2, Math.min(at + PAGE, bytes.length));
    else if (target.older && at + PAGE <= target.older.length) target.older.copy(bytes, at, at, at + PAGE);
  }
  if (bytes.equals(before)) return null;
  writeFileSync(target.path, bytes);
  return `${kind} at ${at} of ${target.path}`;
}
