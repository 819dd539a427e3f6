/** The edited fields of a record, compared with the fields that it had when editing began. */
import type { WireBytes, WireRecord } from '@tidemark/wire';
import { isSame } from './decoders.ts';

export interface DraftField {
  name: string;
  /** The form in which the value is edited. Bytes that are not valid text are edited as base64. */
  form: 'text' | 'base64';
  content: string;
  isRemoved: boolean;
  /** True for an added field, whose name can be edited. */
  isNew: boolean;
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export function draftOf(fields: WireRecord['fields']): DraftField[] {
  return Object.entries(fields).map(([name, value]) => ({
    name,
    ...('text' in value ? { form: 'text', content: value.text } : { form: 'base64', content: value.base64 }),
    isRemoved: false,
    isNew: false,
  }));
}

export const NEW_FIELD: DraftField = { name: '', form: 'text', content: '', isRemoved: false, isNew: true };

function wireOf({ form, content }: DraftField): WireBytes {
  return form === 'text' ? { text: content } : { base64: content };
}

/** Returns the fields that differ from the base. Unchanged fields are omitted, so that concurrent changes are kept. */
export function changesOf(draft: readonly DraftField[], base: WireRecord['fields']): Record<string, WireBytes | null> {
  const changes = draft.flatMap((field): [string, WireBytes | null][] => {
    if (field.isRemoved) return Object.hasOwn(base, field.name) ? [[field.name, null]] : [];
    const known = Object.hasOwn(base, field.name) ? base[field.name] : undefined;
    return isSame(known, wireOf(field)) ? [] : [[field.name, wireOf(field)]];
  });
  return Object.fromEntries(changes);
}

/**
 * Returns the names of changed fields that were sealed. Without the option `sealed`, the write would store them in
 * plain form.
 */
export function sealedIn(changes: Record<string, WireBytes | null>, { sealed = [] }: WireRecord): string[] {
  return sealed.filter((name) => Object.hasOwn(changes, name) && changes[name] !== null);
}

/** Returns why a draft is invalid, or `null` if it is valid. */
export function flawOf(draft: readonly DraftField[]): string | null {
  const kept = draft.filter(({ isRemoved }) => !isRemoved);
  if (kept.length === 0) return 'A record needs at least one field. To remove the record, delete it instead.';
  if (kept.some(({ name }) => name === '')) return 'Each field needs a name.';
  if (new Set(kept.map(({ name }) => name)).size < kept.length) return 'Two fields have the same name.';
  const broken = kept.find(({ form, content }) => form === 'base64' && !BASE64.test(content));
  return broken ? `${broken.name} is not base64.` : null;
}
