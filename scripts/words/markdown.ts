/** Reads the prose of a Markdown page: every paragraph, heading, list item and table row is a passage. Fenced code is skipped. */
import { joinLines, type Passage, type ProseLine } from './passages.ts';

const FENCE = /^\s*(?:```|~~~)/;
/** A heading, list item, quotation or table row starts a new passage. */
const BEGINS_PASSAGE = /^\s*(?:#{1,6} |[-*+] |\d+\. |>|\|)/;

/** Returns the passages of a page in order. */
export function markdownPassages(page: string): Passage[] {
  const passages: Passage[] = [];
  let paragraph: ProseLine[] = [];
  const finish = () => {
    passages.push(...joinLines(paragraph, false));
    paragraph = [];
  };
  let isFenced = false;
  for (const [at, text] of page.split('\n').entries()) {
    const isFence = FENCE.test(text);
    if (isFence) isFenced = !isFenced;
    if (isFence || isFenced || text.trim() === '') finish();
    else {
      if (BEGINS_PASSAGE.test(text)) finish();
      paragraph.push({ line: at + 1, text });
    }
  }
  finish();
  return passages;
}
