/** Renders Markdown pages as HTML, with the anchors that GitHub generates, and finds their sections for the search. */
import { dirname, join, relative } from 'node:path';
import { Marked, type Tokens } from 'marked';
import { anchorsOf } from '../documents/markdown.ts';

/** A section of a page, as the search finds it. */
export interface Section {
  title: string;
  /** The anchor; empty for the first section. */
  anchor: string;
  text: string;
}

/** Replaces the target of a link, or returns `null` if it leads to nothing that the site has. */
export type LinkTarget = (file: string) => string | null;

/** Returns the HTML of a page. Links to files that the site does not have become plain text. */
export function renderMarkdown(path: string, text: string, targetOf: LinkTarget): string {
  const anchors = [...anchorsOf(text)];
  let heading = 0;
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth }: Tokens.Heading) {
        return `<h${depth} id="${anchors[heading++] ?? ''}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        const label = this.parser.parseInline(tokens);
        const target = linkFrom(path, href, targetOf);
        return target === null ? label : `<a href="${escaped(target)}">${label}</a>`;
      },
    },
  });
  return marked.parse(text, { async: false });
}

function linkFrom(path: string, href: string, targetOf: LinkTarget): string | null {
  if (/^(?:[a-z]+:|#)/.test(href)) return href;
  const [file = '', anchor] = href.split('#');
  const target = targetOf(join(dirname(path), file));
  if (target === null) return null;
  const own = targetOf(path) ?? path;
  return relative(dirname(own), target) + (anchor === undefined ? '' : `#${anchor}`);
}

/** Returns the sections of a page, each with its text without Markdown. */
export function sectionsOf(text: string): Section[] {
  const anchors = [...anchorsOf(text)];
  const parts = text
    .replaceAll(/^```[\s\S]*?^```$/gm, (block) => block.replaceAll(/^#/gm, ' #'))
    .split(/^(?=#{1,6} )/m);
  return parts
    .filter((part) => part.startsWith('#'))
    .map((part, at) => {
      const [title = '', ...rest] = part.split('\n');
      const plain = rest.join(' ').replaceAll(/[`*|_]|\]\([^)]*\)|^```\w*/gm, ' ');
      return {
        title: title.replace(/^#+ /, '').replaceAll('`', ''),
        anchor: at === 0 ? '' : (anchors[at] ?? ''),
        text: plain.replaceAll(/\s+/g, ' ').slice(0, 600),
      };
    });
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
