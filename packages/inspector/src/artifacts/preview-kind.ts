/** Chooses the preview of an artifact: text, an image of a type that cannot contain scripts, or bytes. */
import type { ArtifactRef } from '@tidemark/core/portable';

export type PreviewKind = 'text' | 'image' | 'bytes';

/** Image types that contain only pixels. SVG is a document and is shown as text. */
const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp']);
const TEXTS = /^(text\/.+|application\/(.+\+)?(json|xml|yaml|x-yaml|javascript|x-ndjson|toml|sql)|image\/svg\+xml)$/;
const TEXT_NAMES = /\.(txt|md|json|jsonl|ndjson|csv|tsv|ya?ml|xml|html?|svg|log|ts|js|py|sql|toml)$/i;

/** Returns the media type without its parameters. */
export function typeOf({ mimeType }: Pick<ArtifactRef, 'mimeType'>): string {
  return (mimeType ?? '').split(';', 1)[0]!.trim().toLowerCase();
}

export function previewKindOf(ref: Pick<ArtifactRef, 'mimeType' | 'filename'>): PreviewKind {
  const type = typeOf(ref);
  if (IMAGES.has(type)) return 'image';
  if (TEXTS.test(type) || (type === '' && TEXT_NAMES.test(ref.filename ?? ''))) return 'text';
  return 'bytes';
}
