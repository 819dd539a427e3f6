/**
 * File systems in a file, for faults that a real disk has: they are mounted through a loop device, which only root may.
 * Everything that was mounted is unmounted again, also when the process is interrupted.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Loop mounts are not allowed here; the message says why. */
export class LoopMountRefused extends Error {}

/** A folder for images and mount points, cleaned up whatever happens. */
export class Images {
  readonly folder = mkdtempSync(join(tmpdir(), 'tidemark-image-'));
  readonly #mounted = new Set<string>();
  readonly #interrupted = () => {
    this.remove();
    process.exit(1);
  };

  constructor() {
    process.once('SIGINT', this.#interrupted).once('SIGTERM', this.#interrupted);
  }

  /** A new ext4 image; its data reaches the "disk" only when somebody syncs. */
  create(name: string, size: string): string {
    const image = join(this.folder, name);
    try {
      execFileSync('truncate', ['-s', size, image]);
      execFileSync('mkfs.ext4', ['-q', '-F', image], { stdio: 'pipe' });
    } catch (error) {
      throw new LoopMountRefused(`an ext4 image cannot be made: ${firstLine(error)}`);
    }
    return image;
  }

  mount(image: string): string {
    const place = `${image}.mounted`;
    mkdirSync(place, { recursive: true });
    try {
      execFileSync('mount', ['-o', 'loop,commit=300', image, place], { stdio: 'pipe' });
    } catch (error) {
      throw new LoopMountRefused(`loop mounts are not allowed: ${firstLine(error)}`);
    }
    this.#mounted.add(place);
    return place;
  }

  unmount(place: string): void {
    execFileSync('umount', [place], { stdio: 'pipe' });
    this.#mounted.delete(place);
  }

  /** Unmounts everything and removes the folder. */
  remove(): void {
    process.off('SIGINT', this.#interrupted).off('SIGTERM', this.#interrupted);
    for (const place of this.#mounted) {
      try {
        this.unmount(place);
      } catch {
        // Somebody still has a file open there: detach it now, the kernel lets go of it when they are done.
        execFileSync('umount', ['--lazy', place], { stdio: 'pipe' });
      }
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function firstLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: Buffer; message: string };
  return (stderr?.toString().trim() || message).split('\n')[0]!;
}
