/** A modal dialog: keeps the focus inside, and closes on Escape or a click outside. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from './icons.tsx';

interface DialogProps {
  title: string;
  onClose(): void;
  /** Hides the heading; screen readers still announce it. */
  isBare?: boolean;
  children: ComponentChildren;
}

export function Dialog({ title, onClose, isBare, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Called before the next paint, so that the dialog receives keys typed right after its shortcut.
  useLayoutEffect(() => dialog.current!.showModal(), []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the browser closes a dialog on Escape.
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
