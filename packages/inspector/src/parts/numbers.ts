/** Formats counts and sizes. */

const COUNT = new Intl.NumberFormat('en-GB');

export function countText(count: number): string {
  return COUNT.format(count);
}

/** Formats a count with its noun, in the plural unless the count is 1: `1 event`, `2 events`. */
export function counted(count: number, noun: string): string {
  return `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Formats a size: `512 B`, `1.2 KB`, `3.4 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
