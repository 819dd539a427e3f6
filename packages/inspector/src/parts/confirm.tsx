/** Asks for confirmation before an irreversible action, and shows the equivalent command line. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Action } from '../live/action.ts';
import { CommandLine } from './command-line.tsx';
import { Dialog } from './dialog.tsx';
import { Failure } from './states.tsx';

interface ConfirmProps {
  title: string;
  /** The text to type before the button is enabled. */
  typed?: string;
  command: string;
  /** The label of the button. */
  does: string;
  action: Action;
  onConfirm(): void;
  onClose(): void;
  children: ComponentChildren;
}

export function Confirm({ title, typed, command, does, action, onConfirm, onClose, children }: ConfirmProps) {
  const [text, setText] = useState('');
  const isReady = typed === undefined || text === typed;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="confirm"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) onConfirm();
        }}
      >
        <div>{children}</div>
        {typed !== undefined && (
          <label>
            <span>
              Type <code>{typed}</code> to continue
            </span>
            <input
              type="text"
              autoComplete="off"
              spellcheck={false}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </label>
        )}
        {action.error.value !== undefined && <Failure error={action.error.value} onRepeat={action.again} />}
        <CommandLine line={command} />
        <div class="confirm-foot">
          <button type="submit" class="danger" disabled={!isReady || action.isBusy.value}>
            {does}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
