/** The API report prints every kind of export in a stable form, and refers to the entry that declares a name. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../processes.ts';
import { publishedEntries } from './entries.ts';
import { apiPages } from './report.ts';

const INDEX = `
/** A comment. */
export interface Shape<T = string> {
  /** Another comment. */
  readonly name: T;
  area(unit?: { scale: number }): number;
}
export type Kind = 'round' | 'square';
export class Circle implements Shape {
  readonly name = 'circle';
  #radius = 1;
  private unit = 2;
  area() { return this.#radius * this.unit; }
}
export function grow(by: number): number;
export function grow(by: string): string;
export function grow(by: unknown) { return by; }
export const inferred = () => ({ count: 1 });
const internal = 1;
export { internal as renamed };
`;
const EXTRA = `
export { type Kind, Circle } from './index.ts';
export const only = true;
`;

describe('the report of a package', () => {
  let root: string;
  let page: string;
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'tidemark-api-'));
    writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(root, 'index.ts'), INDEX);
    writeFileSync(join(root, 'extra.ts'), EXTRA);
    const folder = root.slice(dirname(root).length + 1);
    const pages = apiPages(dirname(root), [
      { specifier: 'shapes', folder, file: `${folder}/index.ts` },
      { specifier: 'shapes/extra', folder, file: `${folder}/extra.ts` },
    ]);
    page = pages.get(`docs/api/${folder}.api.md`) ?? '';
  });
  afterAll(() => rmSync(root, { recursive: true }));

  it('has the signatures of all names in order, without comments, bodies and private members', () => {
    expect(page).toContain(`## \`shapes\`: 6 names

\`\`\`ts
class Circle implements Shape {
  readonly name = "circle";
  area(): number;
}

type Kind = 'round' | 'square';

interface Shape<T = string> {
  readonly name: T;
  area(unit?: {
    scale: number;
  }): number;
}

function grow(by: number): number;
function grow(by: string): string;

const inferred: () => {
  count: number;
};

export { internal as renamed };
const internal = 1;
\`\`\`
`);
  });

  it('refers to the entry of a signature instead of repeating it', () => {
    expect(page).toContain(`## \`shapes/extra\`: 3 names

\`\`\`ts
export { Circle } from 'shapes';
export { type Kind } from 'shapes';
const only = true;
\`\`\`
`);
  });
});

describe('the entries', () => {
  it('are the entries of published packages, including their subpaths', () => {
    const specifiers = publishedEntries(ROOT).map(({ specifier }) => specifier);
    expect(specifiers).toEqual(expect.arrayContaining(['tidemark', '@tidemark/core', '@tidemark/core/engine']));
    expect(specifiers).not.toContain('@tidemark/wire');
  });
});
