/** A banner that shows since when the server has not answered. */
import { downSince } from '../live/outage.ts';
import { askPulse } from '../live/pulse.ts';
import { roughly } from '../parts/durations.ts';
import { Icon } from '../parts/icons.tsx';
import { now } from '../parts/times.tsx';

const CLOCK = new Intl.DateTimeFormat('sv-SE', { timeStyle: 'medium' });

export function OutageBanner() {
  const since = downSince.value;
  if (since === null) return null;
  return (
    <section class="outage" aria-label="Outage">
      <Icon name="attention" />
      <p role="alert">
        <strong>The server has not answered since {CLOCK.format(since)}.</strong> This page shows the last data it
        received. It updates by itself as soon as the server answers.
      </p>
      <span class="number">{roughly(Math.max(0, now.value - since))}</span>
      <button type="button" class="small" onClick={() => void askPulse()}>
        Try now
      </button>
    </section>
  );
}
