/** The panels of the proof: the result of a check, and a check that is still running. */
import type { ComponentChildren } from 'preact';
import { Icon } from '../parts/icons.tsx';
import { Failure, Waiting } from '../parts/states.tsx';
import type { Tone } from '../parts/status.tsx';

/** The result of one check. */
export function Verdict({ tone, title, children }: { tone: Tone; title: string; children?: ComponentChildren }) {
  const icon = tone === 'good' ? 'check' : tone === 'bad' ? 'cross' : tone === 'warn' ? 'attention' : 'ring';
  return (
    <section class="panel verdict">
      <h2 class={`tone-${tone}`}>
        <Icon name={icon} /> {title}
      </h2>
      {children}
    </section>
  );
}

export function Pending({ error, onRetry }: { error: unknown; onRetry(): void }) {
  return error === undefined ? <Waiting what="the proof" /> : <Failure error={error} onRetry={onRetry} />;
}
