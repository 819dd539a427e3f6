/** The state of a run after any event, the changes between two events, and the event that wrote each value. */
import { useSignal } from '@preact/signals';
import type { RunSnapshot } from '@tidemark/core/portable';
import { useEffect } from 'preact/hooks';
import { useResource } from '../live/resource.ts';
import { Icon } from '../parts/icons.tsx';
import { type Difference, differences, shortText } from '../parts/json.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { counted, countText } from '../parts/numbers.ts';
import { Failure, Waiting } from '../parts/states.tsx';
import { TextBox } from '../parts/text-box.tsx';
import { useShortcuts } from '../shell/keys.ts';
import { hrefOf, route, setQuery } from '../shell/router.ts';
import { EventLine } from './event-line.tsx';
import { hrefOfEvent } from './links.ts';
import { ReadHistory } from './read-history.tsx';
import type { Run } from './run.ts';
import type { RunTabProps } from './run-tab.ts';

const PLAY_MS = 350;
/** A long run is played in this many steps rather than event by event. */
const PLAY_STEPS = 80;
const MAX_DIFFERENCES = 300;
/** Fields that describe how the snapshot was built rather than what the run did. */
const BOOKKEEPING_FIELDS = ['projectedAt', 'version', 'freshness', 'lastEventSeq'] as const;

export function StateTab({ run, head }: RunTabProps) {
  const { history } = run;
  const at = clamp(Number(route.value.query.get('at')) || head, 1, head);
  const from = clamp(Number(route.value.query.get('from') ?? at - 1), 0, head);
  const isPlaying = useSignal(false);
  const pointed = useSignal('');
  const pinned = useSignal('');
  const isComplete = history.isComplete.value;
  const states = useResource(`${at} ${from} ${isComplete}`, async (signal) => {
    const [after, before] = await Promise.all([stateAt(run, at, signal), stateAt(run, from, signal)]);
    return { at, after, changes: differences(before, after) };
  });
  const blame = useResource(`${at} ${isComplete}`, async () => (isComplete ? history.blameAt(at) : undefined));

  const unpin = () => {
    pinned.value = '';
  };
  const go = (seq: number) => setQuery({ at: clamp(seq, 1, head) });
  useEffect(() => {
    if (!isPlaying.value) return;
    const timer = setTimeout(() => {
      if (at < head) go(at + Math.ceil(head / PLAY_STEPS));
      else isPlaying.value = false;
    }, PLAY_MS);
    return () => clearTimeout(timer);
  }, [isPlaying.value, at]);
  const play = () => {
    if (!isPlaying.value && at === head) go(1);
    isPlaying.value = !isPlaying.value;
  };
  useShortcuts('State over time', [
    { keys: '[', does: 'one event back', run: () => go(at - 1) },
    { keys: ']', does: 'one event forward', run: () => go(at + 1) },
    { keys: 'p', does: 'play or pause', run: play },
    { keys: 'm', does: 'compare with this point', run: () => setQuery({ from: at }) },
    { keys: 'M', does: 'compare with the event before', run: () => setQuery({ from: '' }) },
  ]);

  const shown = states.data.value;
  const changed = new Set(shown?.changes.map(({ path }) => path));
  return (
    <div class="state-tab">
      <ReadHistory
        history={history}
        head={head}
        purpose="which event wrote each value"
        meanwhile="The server computes each state."
      />
      <div class="time-slider">
        <button type="button" onClick={() => go(at - 1)} disabled={at <= 1} title="One event back ([)">
          <Icon name="back" />
          <span class="unseen">One event back</span>
        </button>
        <button type="button" onClick={play} aria-pressed={isPlaying.value} title="Play (p)">
          <Icon name={isPlaying.value ? 'pause' : 'play'} />
          <span class="unseen">{isPlaying.value ? 'Pause' : 'Play'}</span>
        </button>
        <button type="button" onClick={() => go(at + 1)} disabled={at >= head} title="One event forward (])">
          <Icon name="right" />
          <span class="unseen">One event forward</span>
        </button>
        <input
          type="range"
          min="1"
          max={head}
          value={at}
          aria-label="State after event"
          aria-valuetext={`after event ${at} of ${head}`}
          onInput={(event) => go(event.currentTarget.valueAsNumber)}
        />
        <label class="number">
          <span class="unseen">Event</span>
          <TextBox type="number" min="1" max={head} value={at} onText={(text) => go(Number.parseInt(text, 10))} />
          <span class="quiet">of {countText(head)}</span>
        </label>
      </div>
      <EventLine run={run} seq={at} />
      {states.error.value !== undefined && <Failure error={states.error.value} onRetry={states.reload} />}
      {!shown && states.error.value === undefined && <Waiting what="the state" />}
      {shown && (
        <div class="state-columns">
          <section class="panel" aria-label="The state">
            <h2>
              State after event {countText(shown.at)}
              {blame.data.value && <span class="quiet"> · point at a value to see which event wrote it</span>}
            </h2>
            <JsonTree
              value={shown.after}
              label="State"
              openLevels={4}
              changed={changed}
              onPoint={(path, isPinned) => {
                if (isPinned) pinned.value = path;
                pointed.value = path;
              }}
              about={(path) => <Writer seq={writerOf(blame.data.value, path)} />}
            />
          </section>
          <div class="state-side">
            <Blame
              run={run}
              path={pinned.value || pointed.value}
              blame={blame.data.value}
              onUnpin={pinned.value === '' ? null : unpin}
            />
            <Changes changes={shown.changes} from={from} at={at} head={head} />
          </div>
        </div>
      )}
    </div>
  );
}

/** Returns the state after an event; `{}` before the first event. */
async function stateAt(run: Run, seq: number, signal: AbortSignal): Promise<object> {
  if (seq === 0) return {};
  const snapshot = run.history.isComplete.value ? run.history.snapshotAt(seq) : await run.source.snapshot(seq, signal);
  const state: Partial<RunSnapshot> = { ...snapshot };
  for (const name of BOOKKEEPING_FIELDS) delete state[name];
  return state;
}

/** A link to the event that wrote a value, on the line of the value. */
function Writer({ seq }: { seq: number | null }) {
  if (seq === null) return null;
  return (
    <a class="button small" href={hrefOfEvent(seq)} title={`Written by event ${seq}`}>
      #{countText(seq)}
    </a>
  );
}

interface BlameProps {
  run: Run;
  path: string;
  blame: Record<string, number> | undefined;
  /** Unpins the pinned path; `null` if no path is pinned. */
  onUnpin: (() => void) | null;
}

function Blame({ run, path, blame, onUnpin }: BlameProps) {
  const seq = writerOf(blame, path);
  return (
    <section class="panel blame" aria-label="Written by" aria-live="polite">
      <h2>
        Written by
        {onUnpin && (
          <button type="button" class="small" onClick={onUnpin}>
            Unpin
          </button>
        )}
      </h2>
      {blame === undefined && <p class="quiet">Available once all events are read.</p>}
      {blame && seq === null && (
        <p class="quiet">Point at a value, or move to it with the Tab key. Click a value to pin it.</p>
      )}
      {seq !== null && (
        <>
          <p>
            <code>{path}</code> was last written by
          </p>
          <EventLine run={run} seq={seq} />
          <Earlier key={`${path} ${seq}`} run={run} path={path} seq={seq} />
        </>
      )}
    </section>
  );
}

/** The earlier writes of a value, one at a time. */
function Earlier({ run, path, seq }: { run: Run; path: string; seq: number }) {
  const earlier = useSignal<readonly number[]>([]);
  const isFirst = useSignal(seq <= 1);
  const goBack = async () => {
    const before = (earlier.value.at(-1) ?? seq) - 1;
    const writer = before > 0 ? writerOf(await run.history.blameAt(before), path) : null;
    if (writer === null) isFirst.value = true;
    else earlier.value = [...earlier.value, writer];
  };
  return (
    <>
      {earlier.value.map((writer) => (
        <EventLine key={writer} run={run} seq={writer} />
      ))}
      {isFirst.value ? (
        <p class="quiet">No earlier event wrote it.</p>
      ) : (
        <button type="button" class="small" onClick={goBack}>
          And before that?
        </button>
      )}
    </>
  );
}

/** Returns the event that last wrote a path or anything below the path. */
function writerOf(blame: Record<string, number> | undefined, path: string): number | null {
  if (!blame || path === '') return null;
  let last: number | null = blame[path] ?? null;
  for (const [below, seq] of Object.entries(blame)) if (below.startsWith(`${path}/`)) last = Math.max(last ?? 0, seq);
  return last;
}

interface ChangesProps {
  changes: readonly Difference[];
  from: number;
  at: number;
  head: number;
}

function Changes({ changes, from, at, head }: ChangesProps) {
  return (
    <section class="panel" aria-label="What changed">
      <h2>
        {counted(changes.length, 'change')}
        <label class="number">
          <span class="quiet">since event</span>
          <TextBox type="number" min="0" max={head} value={from} onText={(text) => setQuery({ from: text })} />
        </label>
      </h2>
      {changes.length === 0 && (
        <p class="quiet">
          The state is the same after event {from} and after event {at}.
        </p>
      )}
      <ol class="changes">
        {changes.slice(0, MAX_DIFFERENCES).map(({ path, before, after }) => (
          <li key={path}>
            <code>{path}</code>
            {before !== undefined && <del>{shortText(before, 200)}</del>}
            {after !== undefined ? <ins>{shortText(after, 200)}</ins> : <span class="quiet">removed</span>}
          </li>
        ))}
      </ol>
      {changes.length > MAX_DIFFERENCES && <p class="quiet">and {countText(changes.length - MAX_DIFFERENCES)} more</p>}
      {route.value.query.has('from') && (
        <a
          class="button small"
          href={hrefOf(route.value.segments, { ...Object.fromEntries(route.value.query), from: '' })}
        >
          Compare with the event before
        </a>
      )}
    </section>
  );
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, Number.isNaN(value) ? high : value));
}
