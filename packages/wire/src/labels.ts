/** Labels in requests. */
import { checkObject, invalidArgument } from '@tidemark/core/portable';

/** Refuses labels that JSON would lose or change. The server checks the rest. */
export function checkLabelTexts(labels: unknown): void {
  for (const [name, label] of Object.entries(checkObject(labels, 'labels')))
    if (typeof label !== 'string') throw invalidArgument(`labels.${name}`, 'text', label ?? null);
}
