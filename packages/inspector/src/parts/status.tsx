/** What state something is in: an icon, a word and a colour, so that none of them is needed alone. */
import { Icon, type IconName } from './icons.tsx';

export type Tone = 'good' | 'bad' | 'busy' | 'warn' | 'quiet';

interface Look {
  icon: IconName;
  tone: Tone;
  /** What the word means, for whoever meets it for the first time. */
  means: string;
}

const LOOKS: Record<string, Look> = {
  PENDING: { icon: 'ring', tone: 'quiet', means: 'Known, but not started' },
  RUNNING: { icon: 'dot', tone: 'busy', means: 'Started and not ended' },
  PAUSED: { icon: 'pause', tone: 'warn', means: 'Waits to be resumed' },
  DELAYED: { icon: 'clock', tone: 'quiet', means: 'Waits for its time' },
  CLAIMED: { icon: 'dot', tone: 'busy', means: 'A worker has taken it and not begun' },
  WAITING: { icon: 'pause', tone: 'warn', means: 'Waits for somebody to resume it' },
  CONSUMED: { icon: 'check', tone: 'quiet', means: 'Was resumed; it cannot be again' },
  COMPLETE: { icon: 'check', tone: 'good', means: 'Ended as it should' },
  COMPLETED: { icon: 'check', tone: 'good', means: 'Ended as it should' },
  SUCCESS: { icon: 'check', tone: 'good', means: 'The step ended as it should' },
  FAILED: { icon: 'cross', tone: 'bad', means: 'Ended with an error' },
  CANCELLED: { icon: 'close', tone: 'quiet', means: 'Ended because somebody said so' },
  SKIPPED: { icon: 'skip', tone: 'quiet', means: 'Was not needed' },
};

export function Status({ status }: { status: string }) {
  const { icon, tone, means } = LOOKS[status] ?? { icon: 'dot', tone: 'quiet', means: 'A state of its own' };
  return (
    <span class={`status tone-${tone}`} title={means}>
      <Icon name={icon} />
      {status.toLowerCase()}
    </span>
  );
}

export function toneOf(status: string): Tone {
  return LOOKS[status]?.tone ?? 'quiet';
}

/** A small word that stands out beside other text. */
export function Mark({
  tone,
  icon,
  title,
  children,
}: {
  tone: Tone;
  icon?: IconName;
  title?: string;
  children: string;
}) {
  return (
    <span class={`mark tone-${tone}`} title={title}>
      {icon && <Icon name={icon} />}
      {children}
    </span>
  );
}
