/** The attempts of each step over time, with idle times shortened. */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { durationText } from '../parts/durations.ts';
import { Icon } from '../parts/icons.tsx';
import { ListWindow } from '../parts/list-window.ts';
import { counted } from '../parts/numbers.ts';
import { Empty } from '../parts/states.tsx';
import { toneOf } from '../parts/status.tsx';
import { now } from '../parts/times.tsx';
import { Windowed } from '../parts/windowed.tsx';
import { useShortcuts } from '../shell/keys.ts';
import { navigate, route, setQuery } from '../shell/router.ts';
import { type Attempt, attemptsOf, lastAttemptsOf } from './attempts.ts';
import { hrefOfEvent } from './links.ts';
import { ReadHistory } from './read-history.tsx';
import type { RunTabProps } from './run-tab.ts';
import { TimeAxis } from './time-axis.ts';

const ROW_HEIGHT = 26;
/** How often running attempts are redrawn. */
const REDRAW_MS = 1_000;
/** If there are more attempts than this, the axis covers only the attempts in view, so that bars stay visible. */
const MAX_ON_ONE_LINE = 60;

export function Timeline({ run, head }: RunTabProps) {
  const { history, snapshot } = run;
  const collapses = route.value.query.get('idle') !== 'shown';
  const toggleIdle = () => setQuery({ idle: collapses ? 'shown' : '' });
  const chosen = useSignal(-1);
  useShortcuts('Timeline', [{ keys: 'i', does: 'show or cut idle times', run: toggleIdle }]);

  const isComplete = history.isComplete.value;
  const attempts = useMemo(
    () => (isComplete ? attemptsOf(history.events) : snapshot.value ? lastAttemptsOf(snapshot.value) : []),
    [isComplete, history.readTo.value, snapshot.value],
  );
  const isRunning = attempts.some(({ end }) => end === null);
  const until = isRunning ? Math.floor(now.value / REDRAW_MS) * REDRAW_MS : 0;
  const count = useSignal(0);
  useEffect(() => {
    count.value = attempts.length;
  }, [attempts]);
  const list = useMemo(() => new ListWindow(ROW_HEIGHT, count), []);
  const isLong = attempts.length > MAX_ON_ONE_LINE;
  const { first, last } = list.inView.value;
  const axis = useMemo(() => {
    const shown = isLong ? attempts.slice(first, last) : attempts;
    const atWork = shown.filter(({ status }) => status !== 'PAUSED');
    const spans = atWork.map(({ start, end }) => ({ start, end: Math.max(start, end ?? until) }));
    return new TimeAxis(spans, collapses);
  }, [attempts, until, collapses, isLong && first, isLong && last]);

  const open = (index: number) => {
    const seq = attempts[index]?.seq;
    if (seq) navigate(hrefOfEvent(seq));
  };
  return (
    <div class="timeline">
      <ReadHistory
        history={history}
        head={head}
        purpose="every try of each step"
        meanwhile="Below is the last attempt of each step, from the state."
      />
      {attempts.length === 0 ? (
        <Empty icon="clock" title="No step has started yet">
          <p>Steps appear here once the run has a StepStarted event.</p>
        </Empty>
      ) : (
        <>
          <div class="timeline-head">
            <span class="quiet">
              {counted(attempts.length, 'try').replace(/ys$/, 'ies')} · {durationText(axis.busyMs)}{' '}
              {isLong ? 'in view' : 'shown'}
            </span>
            <button type="button" class="small" aria-pressed={collapses} onClick={toggleIdle}>
              Cut idle times
            </button>
          </div>
          <div class="timeline-rows">
            <Windowed
              list={list}
              label="Steps and their tries"
              chosen={chosen.value}
              onChoose={(index) => {
                chosen.value = index;
              }}
              onOpen={open}
              row={(index) => ({
                cells: <Bar attempt={attempts[index]} previous={attempts[index - 1]} axis={axis} until={until} />,
              })}
            />
          </div>
          <p class="quiet timeline-foot">
            <Icon name="clock" /> Hatched areas are shortened idle times. Open a bar to see its event.
          </p>
        </>
      )}
    </div>
  );
}

interface BarProps {
  /** Absent for a row that was removed before the next rendering. */
  attempt: Attempt | undefined;
  previous: Attempt | undefined;
  axis: TimeAxis;
  /** The end of running attempts. */
  until: number;
}

function Bar({ attempt, previous, axis, until }: BarProps) {
  if (!attempt) return null;
  const { stepId, status, start, end, error } = attempt;
  const left = axis.position(start);
  const width = axis.position(end ?? until) - left;
  const took = durationText(Math.max(0, (end ?? until) - start));
  const isFirst = previous?.stepId !== stepId;
  return (
    <>
      <span role="gridcell" class={isFirst ? 'lane-name' : 'lane-name quiet'} title={stepId}>
        {isFirst ? stepId : ''}
        {attempt.attempt > 1 && <span class="quiet"> try {attempt.attempt}</span>}
      </span>
      <span role="gridcell" class="lane">
        {axis.gaps.map((gap) => (
          <span
            key={gap.from}
            class="gap"
            title={`${durationText(gap.ms)} in which nothing ran`}
            style={{ left: percent(gap.from), width: percent(gap.to - gap.from) }}
          />
        ))}
        <span
          class={`bar tone-${toneOf(status)} ${status === 'PAUSED' ? 'hatched' : ''}`}
          style={{ left: percent(left), width: percent(width) }}
          title={`${stepId}, try ${attempt.attempt}: ${status.toLowerCase()}, ${took}${error ? `; ${error}` : ''}`}
        />
      </span>
      <span role="gridcell" class={`number tone-${toneOf(status)}`}>
        {status.toLowerCase()} {took}
      </span>
    </>
  );
}

function percent(part: number): string {
  return `${(part * 100).toFixed(3)}%`;
}
