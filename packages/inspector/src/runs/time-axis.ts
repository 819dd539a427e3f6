/** A time axis on which long idle times are shortened. */

export interface Span {
  start: number;
  end: number;
}

/** A segment of the axis: a span of time and its share of the width. */
interface Segment extends Span {
  /** The position on the axis, from 0 to 1. */
  from: number;
  to: number;
  isIdle: boolean;
}

/** A gap is shortened if it is at least this fraction of the busy time and lasts at least a second. */
const NOTABLE_PART = 0.08;
const MIN_GAP_MS = 1_000;
const MAX_GAPS = 12;
/** The width of a shortened gap. */
const GAP_WIDTH = 0.03;

export class TimeAxis {
  readonly #segments: readonly Segment[];

  /** With `collapses`, long gaps between the spans are shortened. */
  constructor(spans: readonly Span[], collapses: boolean) {
    const busy = mergeSpans(spans);
    const gaps = collapses ? longGaps(busy) : [];
    this.#segments = layOut(busy, gaps);
  }

  /** Returns the position of a time on the axis, from 0 to 1. */
  position(moment: number): number {
    const at = this.#segments.findIndex((it) => moment <= it.end);
    const segment = this.#segments[at < 0 ? this.#segments.length - 1 : at];
    if (!segment) return 0;
    const length = segment.end - segment.start;
    const part = length > 0 ? (moment - segment.start) / length : 0;
    return segment.from + Math.max(0, Math.min(1, part)) * (segment.to - segment.from);
  }

  /** The shortened gaps. */
  get gaps(): { from: number; to: number; ms: number }[] {
    return this.#segments.filter((it) => it.isIdle).map(({ from, to, start, end }) => ({ from, to, ms: end - start }));
  }

  /** The total busy time. */
  get busyMs(): number {
    return this.#segments.reduce((sum, it) => sum + (it.isIdle ? 0 : it.end - it.start), 0);
  }
}

/** Merges spans that touch or overlap. */
function mergeSpans(spans: readonly Span[]): Span[] {
  const result: Span[] = [];
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    const last = result.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else result.push({ start, end });
  }
  return result;
}

function longGaps(busy: readonly Span[]): Span[] {
  const atWork = busy.reduce((sum, { start, end }) => sum + end - start, 0);
  const shortest = Math.max(MIN_GAP_MS, atWork * NOTABLE_PART);
  const gaps = busy.slice(1).map(({ start }, at) => ({ start: busy[at]!.end, end: start }));
  const longest = gaps.filter(({ start, end }) => end - start >= shortest);
  return longest.sort((a, b) => b.end - b.start - (a.end - a.start)).slice(0, MAX_GAPS);
}

function layOut(busy: readonly Span[], gaps: readonly Span[]): Segment[] {
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
    const segment = { ...part, from, to };
    from = to;
    return segment;
  });
}
