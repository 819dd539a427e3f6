/** One small change to a source file that the tests should detect. */
export interface Mutant extends Range {
  /** Relative to the repository. */
  file: string;
  replacement: string;
  /**
   * The expression around the change, which a switch can replace while the tests run. Absent if the code runs only
   * once, when its file is loaded, or is not TypeScript.
   */
  host?: Range;
}

/** Offsets in a source. */
export interface Range {
  start: number;
  end: number;
}

export function mutated(source: string, { start, end, replacement }: Mutant): string {
  return source.slice(0, start) + replacement + source.slice(end);
}

/** Describes the changed line before and after: `packages/core/src/tools/live.ts:12 a < b → a <= b`. */
export function describeMutant(source: string, mutant: Mutant): string {
  const from = source.lastIndexOf('\n', mutant.start - 1) + 1;
  const lineEnd = source.indexOf('\n', mutant.end);
  const to = lineEnd === -1 ? source.length : lineEnd;
  const line = source.slice(0, mutant.start).split('\n').length;
  const before = source.slice(from, to);
  const after = mutated(source, mutant).slice(from, to + mutant.replacement.length - (mutant.end - mutant.start));
  return `${mutant.file}:${line}  ${oneLine(before)}  →  ${oneLine(after)}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
