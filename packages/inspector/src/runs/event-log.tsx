/** The list of a run's events, with the opened events next to it. */
import { computed, useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { copyText, notify, notifyFailure } from '../parts/copy.tsx';
import { Icon } from '../parts/icons.tsx';
import { ListWindow } from '../parts/list-window.ts';
import { countText } from '../parts/numbers.ts';
import { Failure } from '../parts/states.tsx';
import { Windowed } from '../parts/windowed.tsx';
import { useShortcuts } from '../shell/keys.ts';
import { route, setQuery } from '../shell/router.ts';
import { EventCards, NONE_OPEN } from './event-cards.tsx';
import { isFailure } from './event-kinds.ts';
import { EventCells } from './event-row.tsx';
import { isEmpty, logFilter, matcherOf } from './log-filter.ts';
import { LogFilterBar } from './log-filter-bar.tsx';
import { LogSearch } from './log-search.ts';
import type { RunTabProps } from './run-tab.ts';

const ROW_HEIGHT = 28;
const COLUMNS = ['Seq', 'Offset', 'Stored', 'Type', 'Step', 'Payload', 'Flags'];
/** The maximum number of opened events. Opening another event closes the oldest one. */
const MAX_OPEN = 6;
/** A delay that prevents loading while the reader keeps scrolling. */
const SETTLE_MS = 40;
/** The page size when searching for the next failure. */
const STRIDE = 1_000;

export function EventLog({ run, head, name }: RunTabProps) {
  const filter = logFilter();
  const key = JSON.stringify(filter);
  const search = useMemo(() => (isEmpty(filter) ? null : new LogSearch(run.source, matcherOf(filter))), [run, key]);
  useEffect(() => {
    if (!search) return;
    const unsubscribe = run.onEvent((event) => search.receive(event));
    return () => {
      unsubscribe();
      search.stop();
    };
  }, [search]);
  const list = useMemo(() => {
    return new ListWindow(
      ROW_HEIGHT,
      computed(() => search?.seqs.value.length ?? run.head.value ?? 0),
    );
  }, [run, search]);
  const seqAt = (index: number) => (search ? (search.seqs.value[index] ?? 0) : index + 1);
  const indexOf = (seq: number) => (search ? search.seqs.value.indexOf(seq) : seq - 1);

  const opened = openedSeqs(run.failedAt.value);
  const chosenSeq = Number(route.value.query.get('seq')) || (run.failedAt.value ?? head);
  const chosen = indexOf(chosenSeq);
  const isFollowing = useSignal(false);
  const box = useRef<HTMLInputElement>(null);

  const choose = (seq: number) => setQuery({ seq });
  const open = (seq: number) => {
    const others = opened.filter((it) => it !== seq);
    setQuery({ seq, open: [...others, seq].slice(-MAX_OPEN).join(',') });
  };
  const move = (by: number) => {
    const index = Math.max(0, Math.min(list.count.value - 1, chosen + by));
    choose(seqAt(index));
    list.scrollTo(index);
  };
  const goToEnd = () => {
    choose(seqAt(list.count.value - 1));
    list.scrollToEnd();
  };
  const goToNextFailure = async () => {
    const seq = await nextFailure(run, chosenSeq);
    if (seq === null) return notify('No failures in this run');
    open(seq);
    list.scrollTo(indexOf(seq), 'middle');
  };
  const seekFailure = () => notifyFailure(goToNextFailure());
  useShortcuts('Events', [
    { keys: 'j', does: 'next event', run: () => move(1) },
    { keys: 'k', does: 'previous event', run: () => move(-1) },
    { keys: 'Enter', does: 'open the event next to the list', run: () => open(chosenSeq) },
    { keys: 'Escape', does: 'close the opened events', run: () => setQuery({ open: NONE_OPEN }) },
    { keys: 'G', does: 'go to the end', run: goToEnd },
    { keys: '.', does: 'next failure', run: seekFailure },
    { keys: '/', does: 'search', run: () => box.current?.focus() },
    { keys: 'c i', does: 'copy the event id', run: () => notifyFailure(copyEvent('id')) },
    { keys: 'c l', does: 'copy a link to the event', run: () => copyText(location.href, 'link') },
    { keys: 'c j', does: 'copy the event as JSON', run: () => notifyFailure(copyEvent('JSON')) },
  ]);
  async function copyEvent(what: 'id' | 'JSON') {
    const event = await run.pages.get(chosenSeq);
    if (event) await copyText(what === 'id' ? event.eventId : JSON.stringify(event, null, 2), `event ${what}`);
  }

  // The log of a run opens at the run's failure, or else at its end.
  useLayoutEffect(() => list.scrollTo(Math.max(0, chosen), 'middle'), [list]);
  useEffect(() => {
    const { first, last } = list.rendered.value;
    const timer = setTimeout(() => {
      run.pages.want(Array.from({ length: last - first }, (_, at) => seqAt(first + at)));
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [list.rendered.value.first, list.rendered.value.last, search?.seqs.value.length]);
  useEffect(() => {
    isFollowing.value = list.isAtEnd;
  }, [list.inView.value.last]);
  useLayoutEffect(() => {
    if (isFollowing.value) list.scrollToEnd();
  }, [list.count.value]);

  const below = list.count.value - list.inView.value.last;
  const hasCards = opened.length > 0;
  return (
    <div class={hasCards ? 'event-log has-cards' : 'event-log'}>
      <div class="event-list">
        <LogFilterBar filter={filter} search={search} head={head} box={box} snapshot={run.snapshot.value} />
        {run.pages.error.value !== undefined && <Failure error={run.pages.error.value} />}
        {search?.error.value !== undefined && <Failure error={search?.error.value} />}
        <Windowed
          list={list}
          label="Events"
          columns={COLUMNS}
          chosen={chosen}
          onChoose={(index) => choose(seqAt(index))}
          onOpen={(index) => open(seqAt(index))}
          row={(index) => {
            const seq = seqAt(index);
            const event = run.pages.at(seq);
            const classes = [
              opened.includes(seq) && 'opened',
              typeof event === 'object' && isFailure(event) && 'failed',
            ];
            const className = classes.filter(Boolean).join(' ');
            const { startedAt, snapshot } = run;
            return {
              class: className,
              cells: <EventCells seq={seq} event={event} startedAt={startedAt.value} snapshot={snapshot.value} />,
            };
          }}
        />
        <div class="list-foot">
          <button type="button" class="small" onClick={seekFailure}>
            <Icon name="cross" /> Next failure <kbd>.</kbd>
          </button>
          <button type="button" class="small" onClick={goToEnd} disabled={below <= 0}>
            <Icon name="down" /> {below > 0 ? `${countText(below)} below` : 'At the end'} <kbd>G</kbd>
          </button>
        </div>
      </div>
      {hasCards && <EventCards run={run} seqs={opened} name={name} />}
    </div>
  );
}

/** Returns the opened events in the address. Default: the failed event. */
function openedSeqs(failedAt: number | null): number[] {
  const text = route.value.query.get('open') ?? String(failedAt ?? NONE_OPEN);
  return text
    .split(',')
    .map(Number)
    .filter((seq) => Number.isSafeInteger(seq) && seq > 0);
}

/** Returns the next failure after a sequence. At the end of the run, continues from the first event. */
async function nextFailure(run: RunTabProps['run'], after: number): Promise<number | null> {
  const head = run.head.value ?? 0;
  const from = async (start: number, end: number) => {
    for (let seq = start; seq < end; ) {
      const { events } = await run.source.read(seq, STRIDE);
      const failure = events.find(isFailure);
      if (failure) return failure.runSeq;
      if (events.length === 0) return null;
      seq = events.at(-1)!.runSeq;
    }
    return null;
  };
  return (await from(after, head)) ?? (await from(0, after));
}
