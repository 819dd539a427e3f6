/** Puts many mutants of a file into one source, each behind a switch that the test runner sets (`switching-runner.ts`). */
import type { Mutant, Range } from './mutant.ts';

/** A mutant that can be switched on while the tests run, with its number. */
export interface Switched {
  id: number;
  mutant: Mutant & { host: Range };
}

/** Returns the source with all these mutants, which behaves like the original while no switch is on. */
export function withSwitches(source: string, mutants: readonly Switched[]): string {
  return render(source, { start: 0, end: source.length }, mutants);
}

/** Renders a range. Hosts are nodes of one syntax tree: two of them are equal, nested or apart. */
function render(source: string, { start, end }: Range, inside: readonly Switched[]): string {
  const [outermost] = [...inside].sort((a, b) => a.mutant.host.start - b.mutant.host.start || length(b) - length(a));
  if (outermost === undefined) return source.slice(start, end);
  const { host } = outermost.mutant;
  const nested = inside.filter(({ mutant }) => mutant.host.start >= host.start && mutant.host.end <= host.end);
  const here = nested.filter((it) => length(it) === length(outermost));
  const original = render(
    source,
    host,
    nested.filter((it) => !here.includes(it)),
  ); // prettier
  const choices = here.map(({ id, mutant }) => `globalThis.mutant?.(${id}) ? (${changedHost(source, mutant)}) : `);
  const rest = inside.filter((it) => !nested.includes(it));
  return `${source.slice(start, host.start)}(${choices.join('')}(${original}))${render(source, { start: host.end, end }, rest)}`;
}

function length({ mutant }: Switched): number {
  return mutant.host.end - mutant.host.start;
}

function changedHost(source: string, { host, start, end, replacement }: Switched['mutant']): string {
  return source.slice(host.start, start) + replacement + source.slice(end, host.end);
}
