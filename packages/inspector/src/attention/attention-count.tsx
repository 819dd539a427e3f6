/** The number of concerns, shown next to the link in the navigation. */
import { countText } from '../parts/numbers.ts';
import { attentionCount } from './attention.ts';

const MOST = 99;

export function AttentionCount() {
  const count = attentionCount.value;
  if (count === 0) return null;
  return <span class="nav-count">{count > MOST ? `${MOST}+` : countText(count)}</span>;
}
