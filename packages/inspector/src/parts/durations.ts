/** Formats durations. */

const UNITS = [
  { ms: 86_400_000, name: 'd' },
  { ms: 3_600_000, name: 'h' },
  { ms: 60_000, name: 'm' },
  { ms: 1_000, name: 's' },
] as const;

/** Formats a duration in the largest unit that fits. */
export function roughly(ms: number): string {
  const unit = UNITS.find((it) => ms >= it.ms) ?? UNITS[3];
  return `${Math.floor(ms / unit.ms)} ${unit.name}`;
}

/** Formats a duration: `840 ms`, `12.3 s`, `4 m 05 s`, `2 h 10 m`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const at = UNITS.findIndex((it) => ms >= it.ms);
  const [large, small] = [UNITS[at]!, UNITS[at + 1]!];
  const rest = String(Math.floor((ms % large.ms) / small.ms)).padStart(2, '0');
  return `${Math.floor(ms / large.ms)} ${large.name} ${rest} ${small.name}`;
}
