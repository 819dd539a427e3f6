/** A fact with its name, in a list of such. */
import type { ComponentChildren } from 'preact';

export function Pair({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
