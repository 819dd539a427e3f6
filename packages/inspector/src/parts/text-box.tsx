/**
 * A box for a value that lasts elsewhere, such as in the address. What is being typed stays, however often the page is drawn
 * meanwhile, and is handed on when the reader is done with it, or `asTyped` at every key.
 */
import type { RefObject } from 'preact';
import { useState } from 'preact/hooks';

interface TextBoxProps {
  type: 'text' | 'search' | 'number';
  value: string | number;
  class?: string;
  list?: string;
  placeholder?: string;
  min?: string | number;
  max?: string | number;
  'aria-invalid'?: boolean;
  box?: RefObject<HTMLInputElement | null>;
  asTyped?: boolean;
  onText(text: string): void;
}

export function TextBox({ value, box, asTyped, onText, ...attributes }: TextBoxProps) {
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <input
      {...attributes}
      ref={box}
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
  );
}
