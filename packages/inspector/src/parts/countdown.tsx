/** The time left, updated every second. */
import { durationText } from './durations.ts';
import { momentText, now } from './times.tsx';

const SOON_MS = 60_000;

interface CountdownProps {
  /** The end of the countdown in milliseconds since the epoch. */
  until: number;
  /** The word shown after the time is over. */
  over: string;
}

export function Countdown({ until, over }: CountdownProps) {
  const left = until - now.value;
  const at = momentText(until);
  if (left <= 0)
    return (
      <time class="tone-bad" dateTime={at} title={at}>
        {over} {durationText(-left)} ago
      </time>
    );
  return (
    <time class={left < SOON_MS ? 'tone-warn' : undefined} dateTime={at} title={at}>
      {durationText(left)} left
    </time>
  );
}
