/** Copies text to the clipboard, and shows short notices. */
import { signal } from '@preact/signals';
import { messageOf } from '../live/http.ts';
import { Icon } from './icons.tsx';

const SHOWN_MS = 1_600;

/** The current notice, shown for a moment and announced to screen readers. */
const notice = signal('');
let timer = 0;

export function notify(text: string): void {
  notice.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => {
    notice.value = '';
  }, SHOWN_MS);
}

/** Shows a notice if the work fails. */
export async function notifyFailure(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    notify(messageOf(error));
  }
}

export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify(`Copied ${what}`);
  } catch {
    notify('The browser does not allow copying here');
  }
}

/** A button that copies a string; `what` describes the text. */
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

/** The line that shows the current notice. */
export function Notice() {
  return (
    <div class="notice" role="status" aria-live="polite">
      {notice.value && <span>{notice.value}</span>}
    </div>
  );
}
