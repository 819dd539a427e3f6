/**
 * Sources with switches behave like the original while all switches are off, and like a single mutant while its switch
 * is on.
 */
import { expect, it, onTestFinished } from 'vitest';
import { describeMutant, mutated } from './mutant.ts';
import { type Switched, withSwitches } from './switches.ts';
import { typescriptMutants } from './typescript.ts';

const SOURCE = `
const LIMIT = 2 * 3;
class Gate {
  static most = LIMIT + 1;
  least = LIMIT - 1;
  admits(a, b, c) {
    const texts = a < b ? [\`\${a} AND \${b}\`, 'SELECT x WHERE a < b'] : [];
    if (!(a > this.least && b < Gate.most || c)) return [...texts, a + b * c];
    return texts.filter((it) => it !== '' && !it.includes(c ? 'OR' : 'AND'));
  }
}
return (...values) => new Gate().admits(...values);
`;

const VALUES = [0, 1, 5, 6, 7].flatMap((a) => [5, 6, 7, 8].flatMap((b) => [0, 2].map((c) => [a, b, c] as const)));

/** Returns what the code answers to all values, or its error. */
function answersOf(source: string): unknown[] {
  const admits = new Function(source)() as (...values: readonly number[]) => unknown;
  return VALUES.map((values) => admits(...values));
}

it('behaves like each mutant whose switch is on, and like the original without one', () => {
  const all = typescriptMutants('example.ts', SOURCE);
  const mutants = all.flatMap((mutant, id) => (mutant.host ? [{ id, mutant } as Switched] : []));
  const source = withSwitches(SOURCE, mutants);
  let on: number | null = null;
  globalThis.mutant = (id) => id === on;
  onTestFinished(() => void Reflect.deleteProperty(globalThis, 'mutant'));

  const original = answersOf(SOURCE);
  expect(answersOf(source)).toEqual(original);
  let differences = 0;
  for (const { id, mutant } of mutants) {
    on = id;
    const expected = answersOf(mutated(SOURCE, mutant));
    expect(answersOf(source), describeMutant(SOURCE, mutant)).toEqual(expected);
    if (JSON.stringify(expected) !== JSON.stringify(original)) differences++;
  }
  expect(mutants.length).toBeGreaterThan(15);
  expect(differences).toBeGreaterThan(12);
});

it('leaves out code that runs once, when its file is loaded', () => {
  const once = typescriptMutants('example.ts', SOURCE).filter(({ host }) => host === undefined);
  expect(once.map(({ start, end }) => SOURCE.slice(start, end))).toEqual(['*', '+']);
});

it('runs the original in processes without switches', () => {
  const mutants = typescriptMutants('example.ts', SOURCE).filter(({ host }) => host);
  const source = withSwitches(
    SOURCE,
    mutants.map((mutant, id) => ({ id, mutant }) as Switched),
  );
  expect(answersOf(source)).toEqual(answersOf(SOURCE));
});
