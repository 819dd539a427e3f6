/** Where moments stand on a line on which long times without work are cut short. */

export interface Span {
  start: number;
  end: number;
}

/** A stretch of the line: so much time on so much of its width. */
interface Stretch extends Span {
  /** From 0 to 1. */
  from: number;
  to: number;
  isIdle: boolean;
}

/** A gap is cut short when it is this part of the time at work, and at least a second. */
const NOTABLE_PART = 0.08;
const SHORTEST_GAP_MS = 1_000;
const MOST_GAPS = 12;
/** What a gap keeps of the width. */
const GAP_WIDTH = 0.03;

export class TimeAxis {
  readonly #stretches: readonly Stretch[];

  /** With `collapses`, gaps between the spans are cut short. */
  constructor(spans: readonly Span[], collapses: boolean) {
    const busy = joined(spans);
    const gaps = collapses ? gapsWorthCutting(busy) : [];
    this.#stretches = laidOut(busy, gaps);
  }

  /** From 0 to 1. */
  place(moment: number): number {
    const at = this.#stretches.findIndex((it) => moment <= it.end);
    const stretch = this.#stretches[at < 0 ? this.#stretches.length - 1 : at];
    if (!stretch) return 0;
    const length = stretch.end - stretch.start;
    const part = length > 0 ? (moment - stretch.start) / length : 0;
    return stretch.from + Math.max(0, Math.min(1, part)) * (stretch.to - stretch.from);
  }

  /** The times that were cut short. */
  get gaps(): { from: number; to: number; ms: number }[] {
    return this.#stretches.filter((it) => it.isIdle).map(({ from, to, start, end }) => ({ from, to, ms: end - start }));
  }

  /** What is shown at work. */
  get busyMs(): number {
    return this.#stretches.reduce((sum, it) => sum + (it.isIdle ? 0 : it.end - it.start), 0);
  }
}

/** Spans that touch or overlap become one. */
function joined(spans: readonly Span[]): Span[] {
  const result: Span[] = [];
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    const last = result.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else result.push({ start, end });
  }
  return result;
}

function gapsWorthCutting(busy: readonly Span[]): Span[] {
  const atWork = busy.reduce((sum, { start, end }) => sum + end - start, 0);
  const shortest = Math.max(SHORTEST_GAP_MS, atWork * NOTABLE_PART);
  const gaps = busy.slice(1).map(({ start }, at) => ({ start: busy[at]!.end, end: start }));
  const longest = gaps.filter(({ start, end }) => end - start >= shortest);
  return longest.sort((a, b) => b.end - b.start - (a.end - a.start)).slice(0, MOST_GAPS);
}

function laidOut(busy: readonly Span[], gaps: readonly Span[]): Stretch[] {
  const first = busy[0];
  const last = busy.at(-1);
  if (!first || !last) return [];
  const parts: (Span & { isIdle: boolean })[] = [];
  let start = first.start;
  for (const gap of gaps.toSorted((a, b) => a.start - b.start)) {
    parts.push({ start, end: gap.start, isIdle: false }, { ...gap, isIdle: true });
    start = gap.end;
  }
  parts.push({ start, end: last.end, isIdle: false });
  const shownMs = parts.reduce((sum, it) => sum + (it.isIdle ? 0 : it.end - it.start), 0);
  const widthForWork = 1 - gaps.length * GAP_WIDTH;
  let from = 0;
  return parts.map((part) => {
    const share = shownMs > 0 ? ((part.end - part.start) / shownMs) * widthForWork : widthForWork;
    const to = Math.min(1, from + (part.isIdle ? GAP_WIDTH : share));
    const stretch = { ...part, from, to };
    from = to;
    return stretch;
  });
}
