/**
 * An input for a value that is stored elsewhere, such as in the address. Keeps the typed text across renderings, and
 * calls `onText` when the input is committed, or with `asTyped` on every keystroke.
 */
import type { RefObject } from 'preact';
import { useId, useState } from 'preact/hooks';

interface TextBoxProps {
  type: 'text' | 'search' | 'number';
  value: string | number;
  class?: string;
  /** Suggested values. */
  known?: readonly string[];
  placeholder?: string;
  min?: string | number;
  max?: string | number;
  'aria-invalid'?: boolean;
  box?: RefObject<HTMLInputElement | null>;
  asTyped?: boolean;
  onText(text: string): void;
}

export function TextBox({ value, box, known, asTyped, onText, ...attributes }: TextBoxProps) {
  const id = useId();
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <>
      <input
        {...attributes}
        ref={box}
        list={known && id}
        value={typed ?? value}
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value);
          if (asTyped) onText(currentTarget.value);
        }}
        onChange={({ currentTarget }) => {
          setTyped(null);
          onText(currentTarget.value);
        }}
        onBlur={() => setTyped(null)}
      />
      {known && (
        <datalist id={id}>
          {known.map((text) => (
            <option key={text} value={text} />
          ))}
        </datalist>
      )}
    </>
  );
}
