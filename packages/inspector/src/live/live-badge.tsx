/** How live the page is, in a word; pressing it pauses and resumes. */
import { Icon, type IconName } from '../parts/icons.tsx';
import type { Tone } from '../parts/status.tsx';
import { type LiveState, liveState, toggleLive } from './stream.ts';

const LOOKS: Record<LiveState, { icon: IconName; tone: Tone; means: string }> = {
  live: { icon: 'dot', tone: 'good', means: 'What is written shows up here at once. Press to pause.' },
  connecting: { icon: 'ring', tone: 'quiet', means: 'Opening the live stream.' },
  reconnecting: { icon: 'reload', tone: 'warn', means: 'The stream broke off; it goes on where it was.' },
  paused: { icon: 'pause', tone: 'warn', means: 'Nothing new is shown. Press to go on.' },
  still: { icon: 'ring', tone: 'quiet', means: 'This view does not change by itself.' },
};

export function LiveBadge() {
  const state = liveState.value;
  const { icon, tone, means } = LOOKS[state];
  return (
    <button type="button" class={`live-badge tone-${tone}`} title={`${means} (l)`} onClick={toggleLive}>
      <Icon name={icon} />
      <span role="status">{state}</span>
    </button>
  );
}
