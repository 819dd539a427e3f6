/** Shows the state of the live stream. Pressing the badge pauses or resumes the stream. */
import { Icon, type IconName } from '../parts/icons.tsx';
import type { Tone } from '../parts/status.tsx';
import { type LiveState, liveState, toggleLive } from './stream.ts';

const LOOKS: Record<LiveState, { icon: IconName; tone: Tone; means: string }> = {
  live: { icon: 'dot', tone: 'good', means: 'Changes appear at once. Press to pause.' },
  connecting: { icon: 'ring', tone: 'quiet', means: 'Opening the live stream.' },
  reconnecting: { icon: 'reload', tone: 'warn', means: 'The stream was interrupted; it resumes where it stopped.' },
  paused: { icon: 'pause', tone: 'warn', means: 'New changes are not shown. Press to resume.' },
  static: { icon: 'ring', tone: 'quiet', means: 'This view has no live updates.' },
};

export function LiveBadge() {
  const state = liveState.value;
  const { icon, tone, means } = LOOKS[state];
  return (
    <button type="button" class={`live-badge tone-${tone}`} title={`${means} (l)`} onClick={toggleLive}>
      <Icon name={icon} />
      <span role="status">{state === 'static' ? 'not live' : state}</span>
    </button>
  );
}
