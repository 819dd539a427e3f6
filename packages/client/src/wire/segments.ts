/** Ids in paths (GEN-5): percent-encoded; `.`, `..` and ids that begin with a tilde get a tilde in front, or they would be lost. */
import { checkId } from '@tidemark/core/portable';

/** The segment that stands for an id; `INVALID_ARGUMENT` for what is no id. */
export function segmentOf(id: unknown, field: string): string {
  const text = checkId(id, field);
  const encoded = encodeURIComponent(text);
  return text === '.' || text === '..' || text.startsWith('~') ? `~${encoded}` : encoded;
}
