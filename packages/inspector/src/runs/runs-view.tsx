/** The live list of runs, filtered by the address. Rows do not move while the reader works with them. */
import type { RunSummary } from '@tidemark/core/portable';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useTopic } from '../live/stream.ts';
import { durationText } from '../parts/durations.ts';
import { ownedName } from '../parts/frameworks.ts';
import { counted, countText } from '../parts/numbers.ts';
import { rowKeys, useRows } from '../parts/rows.ts';
import { Command, Empty, Failure, NothingFits, Waiting } from '../parts/states.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/times.tsx';
import { Windowed } from '../parts/windowed.tsx';
import { useShortcuts } from '../shell/keys.ts';
import { navigate } from '../shell/router.ts';
import { hrefOfRun } from './links.ts';
import { changeFilter, type FilterQuery, filterQuery, NO_FILTER } from './runs-filter.ts';
import { RunsFilterBar } from './runs-filter-bar.tsx';
import { RunsList } from './runs-list.ts';

const ROW_HEIGHT = 34;
/** More rows are loaded when fewer than this many remain below the view. */
const AHEAD = 40;
const COLUMNS = ['Status', 'Run', 'Plan', 'Tenant / project / environment', 'Events', 'Created', 'Last event', 'Took'];

export function RunsView() {
  const filter = filterQuery();
  const key = JSON.stringify(filter);
  const list = useMemo(() => new RunsList(filter), [key]);
  const rows = useRows(ROW_HEIGHT, list.rows);
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => () => list.close(), [list]);
  const onItem = (run: unknown) => list.receive(run as RunSummary);
  useTopic({ topic: 'runs', after: null, onItem, onReset: () => list.catchUp() }, key);
  useEffect(() => {
    if (rows.list.inView.value.last + AHEAD >= list.rows.value.length && !list.error.value) void list.more();
  }, [rows.list.inView.value.last, list.rows.value.length]);

  const open = (index: number) => {
    const run = list.rows.value[index];
    if (run) navigate(hrefOfRun(run));
  };
  useShortcuts('Runs', [
    ...rowKeys(rows, 'run', open),
    { keys: '/', does: 'search', run: () => search.current?.focus() },
    { keys: 'n', does: 'show new runs', run: () => list.showWaiting() },
    { keys: 'x', does: 'clear the filters', run: () => changeFilter(NO_FILTER) },
  ]);

  const waiting = list.waiting.value.length;
  return (
    <section class="view runs-view">
      <h1>Runs</h1>
      <RunsFilterBar filter={filter} rows={list.rows} search={search} />
      {list.error.value !== undefined && <Failure error={list.error.value} onRetry={() => list.more()} />}
      {waiting > 0 && (
        <button type="button" class="pill" onClick={() => list.showWaiting()}>
          {countText(waiting)} new
        </button>
      )}
      {list.rows.value.length > 0 ? (
        <Windowed
          {...rows.shown}
          label="Runs"
          columns={COLUMNS}
          onOpen={open}
          row={(index) => ({ cells: <RunCells run={list.rows.value[index]!} /> })}
        />
      ) : (
        <NoRuns list={list} filter={filter} />
      )}
      <p class="count-line quiet" role="status">
        {counted(list.rows.value.length, 'run')}
        {!list.isComplete.value && ' so far'}
        {filter.q !== '' && `, ${countText(list.searched.value)} searched`}
        {list.isLoading.value && ' · loading'}
        {!list.isLoading.value && !list.isComplete.value && (
          <button type="button" class="small" onClick={() => list.more()}>
            {filter.q === '' ? 'Load more' : 'Search further'}
          </button>
        )}
      </p>
    </section>
  );
}

function RunCells({ run }: { run: RunSummary }) {
  const { runId, planId, planVersion, tenantId, projectId, environmentId, status, lastEventSeq } = run;
  const owned = ownedName(run);
  return (
    <>
      <span role="gridcell">
        <Status status={status} />
      </span>
      <span role="gridcell" class="strong">
        <a href={hrefOfRun(run)} tabIndex={-1} title={runId}>
          {owned === null ? (
            runId
          ) : (
            <>
              <span class="quiet">{owned.owner}</span> {owned.name}
            </>
          )}
        </a>
      </span>
      <span role="gridcell" title={`${planId} ${planVersion}`}>
        {planId} <span class="quiet">{planVersion}</span>
      </span>
      <span role="gridcell" class="quiet" title={`${tenantId} / ${projectId} / ${environmentId}`}>
        {tenantId} / {projectId} / {environmentId}
      </span>
      <span role="gridcell" class="number">
        {countText(lastEventSeq)}
      </span>
      <span role="gridcell">
        <Time at={run.createdAt} />
      </span>
      <span role="gridcell">
        <Time at={run.updatedAt} />
      </span>
      <span role="gridcell" class="number">
        {durationText(Date.parse(run.updatedAt) - Date.parse(run.createdAt))}
      </span>
    </>
  );
}

function NoRuns({ list, filter }: { list: RunsList; filter: FilterQuery }) {
  if (list.isLoading.value) return <Waiting what="runs" />;
  if (list.error.value !== undefined) return null;
  if (Object.values(filter).some((value) => value !== ''))
    return (
      <NothingFits
        title="No run matches these filters"
        offer="Clear the filters"
        onTake={() => changeFilter(NO_FILTER)}
      />
    );
  return (
    <Empty icon="runs" title="No runs yet">
      <p>A run is a log of events. It appears here with its first event:</p>
      <Command>
        {`import { open } from 'tidemark';

const store = await open('${location.origin}');
const run = store.runs.handle('order-42');
await run.append('RunStarted', { by: 'ada' });
await run.append('StepStarted', {}, { stepId: 'charge' });`}
      </Command>
      <p>
        Or fill the store with examples: <code>npx tidemark demo</code>. An exported run can be opened from{' '}
        <a href="/file">its file</a>.
      </p>
    </Empty>
  );
}
