/**
 * Generates texts that stress a regular expression. They are derived from the pattern itself: its characters and
 * classes, sequences of them, and its beginnings, each repeated up to a length after every prefix that could lead
 * there.
 */

/** One character of a pattern: a string that it matches, and its minimum number of repetitions. */
interface Atom {
  text: string;
  least: number;
}

export interface Stress {
  head: string;
  pump: string;
  tail: string;
}

const MAX_ATOMS = 48;
const WIDEST_WINDOW = 6;
const MAX_PAIRED = 12;
/** Endings that most patterns do not match, so that they try all alternatives first. */
const TAILS = ['', '\0', '!', '\n'];
const WORDS = [...'a1eEfxAX0'];
const OTHERS = [...'- ./:"\\@=#;+{}[]\t\n\0é'];
/**
 * Classes are sampled from each kind of character, because for example a class of letters and a dash starts a word only
 * after the dash.
 */
const ALPHABETS = [
  [...WORDS, ...OTHERS],
  [...OTHERS, ...WORDS],
];

/** Returns a string of about `length` characters. */
export function stressText({ head, pump, tail }: Stress, length: number): string {
  const room = Math.max(1, length - head.length - tail.length);
  return head + pump.repeat(Math.max(1, Math.floor(room / pump.length))) + tail;
}

export function stressesOf(pattern: RegExp): Stress[] {
  return ALPHABETS.flatMap((alphabet) => stressesIn(pattern, alphabet));
}

function stressesIn(pattern: RegExp, alphabet: readonly string[]): Stress[] {
  const atoms = atomsOf(pattern, alphabet).slice(0, MAX_ATOMS);
  const texts = atoms.map(({ text, least }) => text.repeat(Math.max(1, least)));
  const beginning = (count: number) => texts.slice(0, count).join('');
  const all = new Map<string, Stress>();
  const add = (head: string, pump: string) => {
    for (const tail of TAILS) all.set(JSON.stringify([head, pump, tail]), { head, pump, tail });
  };
  for (let start = 0; start < atoms.length; start++) {
    add('', beginning(start + 1));
    for (let end = start + 1; end <= Math.min(atoms.length, start + WIDEST_WINDOW); end++) {
      const pump = texts.slice(start, end).join('');
      add('', pump);
      add(beginning(start), pump);
    }
  }
  const letters = [...new Set(atoms.map(({ text }) => text))].slice(0, MAX_PAIRED);
  for (const one of letters) for (const other of letters) add('', one + other);
  return [...all.values()];
}

/** Returns the atoms of a pattern in order. Groups and alternatives are read as a sequence. */
function atomsOf({ source, flags }: RegExp, alphabet: readonly string[]): Atom[] {
  const atoms: Atom[] = [];
  for (let at = 0; at < source.length; ) {
    const rest = source.slice(at);
    const piece = pieceOf(rest);
    at += piece.length;
    const text = piece.isAtom ? sampleOf(rest.slice(0, piece.length), flags, alphabet) : undefined;
    if (text !== undefined) atoms.push({ text, least: leastOf(source.slice(at)) });
  }
  return atoms;
}

/** Returns the length of the next piece of a pattern, and whether it matches a character. */
function pieceOf(rest: string): { length: number; isAtom: boolean } {
  const group = /^\((\?(:|=|!|<=|<!|<\w+>))?/.exec(rest);
  if (group) return { length: group[0].length, isAtom: false };
  const quantifier = /^(\{\d+(,\d*)?\}|[*+?])\??/.exec(rest);
  if (quantifier) return { length: quantifier[0].length, isAtom: false };
  if (/^[)|^$]/.test(rest)) return { length: 1, isAtom: false };
  if (/^\\[bB]/.test(rest)) return { length: 2, isAtom: false };
  const characters = /^(\[(\\.|[^\]\\])*\]|\\u\{\w+\}|\\u\w{4}|\\x\w\w|\\[pP]\{[^}]*\}|\\.|.)/su.exec(rest)!;
  return { length: characters[0].length, isAtom: true };
}

/** Returns a character that one atom matches, from the alphabet if possible. */
function sampleOf(atom: string, flags: string, alphabet: readonly string[]): string | undefined {
  const one = new RegExp(`^${atom}$`, flags.replace(/[gy]/g, ''));
  const found = alphabet.find((it) => one.test(it));
  if (found !== undefined) return found;
  for (let code = 0; code < 0x3000; code++) if (one.test(String.fromCharCode(code))) return String.fromCharCode(code);
  return undefined;
}

function leastOf(rest: string): number {
  return Number(/^\{(\d+)/.exec(rest)?.[1] ?? 1);
}
