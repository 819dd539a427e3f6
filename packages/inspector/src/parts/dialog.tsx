/** A dialog over the page: keeps the focus inside, ends with Escape or a click beside it. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from './icons.tsx';

interface DialogProps {
  title: string;
  onClose(): void;
  /** Shown without its heading, which is read out only. */
  isBare?: boolean;
  children: ComponentChildren;
}

export function Dialog({ title, onClose, isBare, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // At once: what is typed right after the key that opens it belongs to it.
  useLayoutEffect(() => dialog.current!.showModal(), []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape is the key that closes a dialog, and the browser has it.
    <dialog
      ref={dialog}
      aria-label={title}
      class={isBare ? 'bare' : undefined}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      {!isBare && (
        <header>
          <h2>{title}</h2>
          <button type="button" class="bare" onClick={() => dialog.current!.close()}>
            <Icon name="close" />
            <span class="unseen">Close</span>
          </button>
        </header>
      )}
      {children}
    </dialog>
  );
}
