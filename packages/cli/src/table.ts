/** Renders text in columns. Escapes control characters in stored values, which must not reach a terminal. */
import { styleText } from 'node:util';

export type Colour = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold';

/** A cell's text, and its colour if colours are enabled. */
export interface Cell {
  text: string;
  colour?: Colour;
}

export interface TableStyle {
  colours: boolean;
  /** The width to which lines are cut. If absent, lines are not cut. */
  width?: number;
}

const GAP = '  ';
/**
 * The minimum widths of the first column, which contains the id, and of the other columns. They are tried in order
 * until a line fits.
 */
const SHORTENED = [
  { others: 12, first: 20 },
  { others: 8, first: 8 },
];

/** Returns the text with control characters as escapes. */
export function printable(text: string): string {
  return text.replaceAll(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern must match control characters.
    /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (it) => (it === '\n' ? '⏎' : `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

const WIDE = /\p{Emoji_Presentation}|\p{Script=Han}|\p{Script=Hangul}|\p{Script=Hiragana}|\p{Script=Katakana}/u;
const NARROW = /^[\x20-\x7e]*$/;

/** Returns the number of terminal columns that a string takes. */
function widthOf(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += /\p{Mark}/u.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}

/** Renders one line of cells, each padded to its column. Cuts the line to the style's width. */
export function renderLine(cells: readonly Cell[], widths: readonly number[], style: TableStyle): string {
  const last = cells.length - 1;
  let used = 0;
  const parts = cells.map((cell, at) => {
    const room = (style.width ?? Number.POSITIVE_INFINITY) - used;
    const text = cut(printable(cell.text), Math.max(0, room));
    const padding = at === last ? '' : ' '.repeat(Math.max(0, Math.min(widths[at]!, room) - widthOf(text)));
    used += widthOf(text) + padding.length + GAP.length;
    return paint(text, cell.colour, style) + padding;
  });
  return parts.join(GAP).trimEnd();
}

/**
 * Returns the column widths at which a line fits the style's width. In a very narrow terminal, returns the minimum
 * widths.
 */
function fitted(widths: readonly number[], { width }: TableStyle): number[] {
  const fit = [...widths];
  let excess = fit.reduce((sum, it) => sum + it, GAP.length * (fit.length - 1)) - (width ?? Number.POSITIVE_INFINITY);
  const shorten = (at: number, least: number) => {
    if (excess <= 0 || fit[at]! <= least) return false;
    fit[at] = fit[at]! - 1;
    excess--;
    return true;
  };
  for (const { others, first } of SHORTENED) {
    while (shorten(fit.indexOf(Math.max(0, ...fit.slice(1)), 1), others));
    while (shorten(0, first));
  }
  return fit;
}

/** Renders rows under their titles. */
export function renderTable(
  titles: readonly string[],
  rows: readonly (readonly Cell[])[],
  style: TableStyle,
): string[] {
  const widths = titles.map((title, at) =>
    rows.reduce((widest, row) => Math.max(widest, widthOf(printable(row[at]!.text))), widthOf(title)),
  );
  const head = titles.map((title): Cell => ({ text: title, colour: 'dim' }));
  const fit = fitted(widths, style);
  return [head, ...rows].map((cells) => renderLine(cells.map(shortened), fit, style));

  function shortened(cell: Cell, at: number): Cell {
    return fit[at]! < widths[at]! ? { ...cell, text: cut(printable(cell.text), fit[at]!) } : cell;
  }
}

function paint(text: string, colour: Colour | undefined, { colours }: TableStyle): string {
  return colours && colour && text !== '' ? styleText(colour, text, { validateStream: false }) : text;
}

function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let [kept, used] = ['', 0];
  for (const character of text) {
    used += widthOf(character);
    if (used > width - 1) break;
    kept += character;
  }
  return width > 0 ? `${kept}…` : '';
}
