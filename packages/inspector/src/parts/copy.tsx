/** Putting text on the clipboard, and saying so. */
import { signal } from '@preact/signals';
import { messageOf } from '../live/http.ts';
import { Icon } from './icons.tsx';

const SHOWN_MS = 1_600;

/** What was just done, for a moment; read out too. */
const notice = signal('');
let timer = 0;

export function tell(text: string): void {
  notice.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => {
    notice.value = '';
  }, SHOWN_MS);
}

/** Says what went wrong with something the reader asked for. */
export async function telling(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    tell(messageOf(error));
  }
}

export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    tell(`Copied ${what}`);
  } catch {
    tell('The browser does not allow copying here');
  }
}

/** A button that copies; `what` names it. */
export function CopyButton({
  text,
  what,
  children,
}: {
  text: string | (() => string);
  what: string;
  children?: string;
}) {
  const copy = () => copyText(typeof text === 'string' ? text : text(), what);
  return (
    <button type="button" class={children ? 'small' : 'bare small'} onClick={copy} title={`Copy ${what}`}>
      <Icon name="copy" />
      {children ?? <span class="unseen">Copy {what}</span>}
    </button>
  );
}

/** The line that says what was just done. */
export function Notice() {
  return (
    <div class="notice" role="status" aria-live="polite">
      {notice.value && <span>{notice.value}</span>}
    </div>
  );
}
