/**
 * The kv keys of long-term memory: `tidemark.langgraph.store.<label>/<label>/….<key>`. Labels are escaped one by one,
 * so that each namespace prefix corresponds to a key range. A namespace that is too long for a key ends in a hash.
 */
import { endOfPrefix, keySegment } from '@tidemark/core/adapters';

export const MEMORY = 'tidemark.langgraph.store.';

/**
 * The maximum length of a namespace, which leaves room for the key of an item, because kv keys have at most 512 bytes.
 */
const MAX_NAMESPACE = 340;

/** Returns the kv key of an item. */
export function itemKey(namespace: readonly string[], key: string): string {
  return `${MEMORY}${pathOf(namespace)}.${keySegment(key)}`;
}

/**
 * Returns the key range of all namespaces that start with these labels. If the labels are too long for a key, the range
 * may contain other namespaces, so readers must also compare the labels.
 */
export function namespaceRange(labels: readonly string[]): { from?: string; to?: string } {
  if (labels.length === 0) return {};
  const { path, isWhole } = cut(labels);
  if (!isWhole) return { from: `${MEMORY}${path}`, to: endOfPrefix(`${MEMORY}${path}`) };
  // After the path, a key continues with "." or "/", which are adjacent characters.
  return { from: `${MEMORY}${path}.`, to: endOfPrefix(`${MEMORY}${path}/`) };
}

function pathOf(namespace: readonly string[]): string {
  const { path, isWhole } = cut(namespace);
  return isWhole ? path : `${path}${keySegment(JSON.stringify(namespace).padEnd(100))}`;
}

/** Joins as many labels as fit into a key. A truncated path ends in `/`. */
function cut(labels: readonly string[]): { path: string; isWhole: boolean } {
  let path = '';
  for (const [at, label] of labels.entries()) {
    const next = at === 0 ? keySegment(label) : `${path}/${keySegment(label)}`;
    if (next.length > MAX_NAMESPACE) return { path: `${path}/`, isWhole: false };
    path = next;
  }
  return { path, isWhole: true };
}
