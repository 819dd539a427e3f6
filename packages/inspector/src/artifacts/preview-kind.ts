/** How an artifact may be shown: as text, as a picture of a kind that can hold no script, or not at all. */
import type { ArtifactRef } from '@tidemark/core/portable';

export type PreviewKind = 'text' | 'image' | 'bytes';

/** Pictures that are pixels only; SVG is a document, and is shown as the text it is. */
const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp']);
const TEXTS = /^(text\/.+|application\/(.+\+)?(json|xml|yaml|x-yaml|javascript|x-ndjson|toml|sql)|image\/svg\+xml)$/;
const TEXT_NAMES = /\.(txt|md|json|jsonl|ndjson|csv|tsv|ya?ml|xml|html?|svg|log|ts|js|py|sql|toml)$/i;

/** The type without its parameters. */
export function typeOf({ mimeType }: Pick<ArtifactRef, 'mimeType'>): string {
  return (mimeType ?? '').split(';', 1)[0]!.trim().toLowerCase();
}

export function previewKindOf(ref: Pick<ArtifactRef, 'mimeType' | 'filename'>): PreviewKind {
  const type = typeOf(ref);
  if (IMAGES.has(type)) return 'image';
  if (TEXTS.test(type) || (type === '' && TEXT_NAMES.test(ref.filename ?? ''))) return 'text';
  return 'bytes';
}
