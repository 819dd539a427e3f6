/** Extracts the parts of a Markdown page that the checks examine: headings, links, and text in code. */

const FENCE = /^ {0,3}```/;
/** Code between backticks, which may continue on the next line but not in the next paragraph. */
const SPAN = /`((?:[^`\n]|\n(?!\n))+)`/g;

/** Returns the page without its fenced blocks, and the fenced blocks alone. Both keep the line numbers. */
function split(text: string): { prose: string; fenced: string } {
  const prose: string[] = [];
  const fenced: string[] = [];
  let inside = false;
  for (const line of text.split('\n')) {
    const isFence = FENCE.test(line);
    if (isFence) inside = !inside;
    prose.push(inside || isFence ? '' : line);
    fenced.push(inside && !isFence ? line : '');
  }
  return { prose: prose.join('\n'), fenced: fenced.join('\n') };
}

/** Returns the anchors that GitHub generates for the headings of a page. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, title] of split(text).prose.matchAll(/^#{1,6} (.+)$/gm)) {
    const anchor = title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    let unique = anchor;
    for (let n = 1; anchors.has(unique); n++) unique = `${anchor}-${n}`;
    anchors.add(unique);
  }
  return anchors;
}

/** Returns the targets of links to files and headings; links to other sites are omitted. */
export function linksOf(text: string): string[] {
  const prose = split(text).prose.replaceAll(SPAN, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!).filter((it) => !/^[a-z]+:/.test(it));
}

/** Returns the words in code: between backticks and in fenced blocks. */
export function codeWordsOf(text: string): string[] {
  const { prose, fenced } = split(text);
  const spans = [...prose.matchAll(SPAN)].map(([, code]) => code!);
  return [...spans, fenced].flatMap((code) => code.split(/\s+/)).filter((word) => word !== '');
}
