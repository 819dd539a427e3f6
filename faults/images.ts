/**
 * File systems in a file, for disk faults. They are mounted through a loop device, which requires root. Everything is
 * unmounted again, even if the process is interrupted.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Thrown when loop mounts are not allowed. The message contains the reason. */
export class LoopMountRefused extends Error {}

/** A folder for images and mount points, always cleaned up. */
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

  /** Creates an ext4 image. Its data reaches the "disk" only after a sync. */
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
    const mountPoint = `${image}.mounted`;
    mkdirSync(mountPoint, { recursive: true });
    try {
      execFileSync('mount', ['-o', 'loop,commit=300', image, mountPoint], { stdio: 'pipe' });
    } catch (error) {
      throw new LoopMountRefused(`loop mounts are not allowed: ${firstLine(error)}`);
    }
    this.#mounted.add(mountPoint);
    return mountPoint;
  }

  unmount(mountPoint: string): void {
    execFileSync('umount', [mountPoint], { stdio: 'pipe' });
    this.#mounted.delete(mountPoint);
  }

  /** Unmounts everything and removes the folder. */
  remove(): void {
    process.off('SIGINT', this.#interrupted).off('SIGTERM', this.#interrupted);
    for (const mountPoint of this.#mounted) {
      try {
        this.unmount(mountPoint);
      } catch {
        // A process still has a file open there, so detach now; the kernel unmounts when the file is closed.
        execFileSync('umount', ['--lazy', mountPoint], { stdio: 'pipe' });
      }
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function firstLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: Buffer; message: string };
  return (stderr?.toString().trim() || message).split('\n')[0]!;
}
