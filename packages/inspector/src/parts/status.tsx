/** Shows a status as icon, text and colour, so that no single one of them is required to recognise it. */
import { Icon, type IconName } from './icons.tsx';

export type Tone = 'good' | 'bad' | 'busy' | 'warn' | 'quiet';

interface Look {
  icon: IconName;
  tone: Tone;
  /** The explanation of the status, shown as a tooltip. */
  means: string;
}

const LOOKS: Record<string, Look> = {
  PENDING: { icon: 'ring', tone: 'quiet', means: 'Not started yet' },
  RUNNING: { icon: 'dot', tone: 'busy', means: 'Started, not ended' },
  PAUSED: { icon: 'pause', tone: 'warn', means: 'Waiting to be resumed' },
  DELAYED: { icon: 'clock', tone: 'quiet', means: 'Scheduled for later' },
  CLAIMED: { icon: 'dot', tone: 'busy', means: 'Claimed by a worker, not started' },
  WAITING: { icon: 'pause', tone: 'warn', means: 'Waiting to be resumed' },
  CONSUMED: { icon: 'check', tone: 'quiet', means: 'Resumed; it cannot be resumed again' },
  COMPLETE: { icon: 'check', tone: 'good', means: 'Ended successfully' },
  COMPLETED: { icon: 'check', tone: 'good', means: 'Ended successfully' },
  SUCCESS: { icon: 'check', tone: 'good', means: 'The step ended successfully' },
  FAILED: { icon: 'cross', tone: 'bad', means: 'Ended with an error' },
  CANCELLED: { icon: 'close', tone: 'quiet', means: 'Cancelled before it completed' },
  SKIPPED: { icon: 'skip', tone: 'quiet', means: 'Skipped' },
};

export function Status({ status }: { status: string }) {
  const { icon, tone, means } = LOOKS[status] ?? { icon: 'dot', tone: 'quiet', means: 'Custom status' };
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

/** A short highlighted label. */
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
