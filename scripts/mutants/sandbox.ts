/**
 * A copy of the sources in a temporary directory, linked to the installed packages: mutants never touch the repository.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../processes.ts';

const COPIED = ['packages', 'scripts', 'faults', 'package.json', 'vitest.config.ts', 'tsconfig.base.json'];
const NOT_COPIED = /(^|\/)(node_modules|dist)(\/|$)/;

export class Sandbox {
  readonly root: string = mkdtempSync(join(tmpdir(), 'tidemark-mutants-'));

  constructor() {
    for (const name of COPIED) {
      const filter = (path: string) => !NOT_COPIED.test(path.slice(ROOT.length));
      cpSync(join(ROOT, name), join(this.root, name), { recursive: true, filter });
    }
    linkModules(join(ROOT, 'node_modules'), join(this.root, 'node_modules'));
    // Also after an interruption.
    process.once('exit', () => this.remove());
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.root, file), text);
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** Links to the installed packages. Links to our own packages keep their relative text and so lead into the copy. */
function linkModules(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (entry.name.startsWith('@')) linkModules(source, target);
    else if (entry.isDirectory() && entry.name !== '.cache') symlinkSync(source, target);
  }
}
