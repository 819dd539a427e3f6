/** A board of jobs with a column for each state, and a panel for one job. */
import type { Job } from '@tidemark/core/portable';
import { Icon } from '../parts/icons.tsx';
import { countText } from '../parts/numbers.ts';
import { Command, Empty, Failure, NothingFits, Waiting } from '../parts/states.tsx';
import { Status } from '../parts/status.tsx';
import { useShortcuts } from '../shell/keys.ts';
import { route, setQuery } from '../shell/router.ts';
import { currentTenant, TenantBox } from '../shell/tenant-box.tsx';
import { LISTED_STATES } from './api.ts';
import { type Board, useBoard } from './board.ts';
import { JobCard } from './job-card.tsx';
import { JobPanel } from './job-panel.tsx';

export function JobsView() {
  const { query } = route.value;
  const tenant = currentTenant();
  const taskType = query.get('type') || undefined;
  const board = useBoard(taskType, tenant);
  const name = query.get('job') ?? '';
  const jobs = board.data.value ? [...board.data.value.values()].flatMap(({ items }) => items) : [];
  const move = (by: number) => {
    const at = jobs.findIndex((job) => nameOf(job) === name);
    const next = jobs[Math.max(0, Math.min(jobs.length - 1, at + by))];
    if (next) setQuery({ job: nameOf(next) });
  };
  useShortcuts('Jobs', [
    { keys: 'j', does: 'next job', run: () => move(1) },
    { keys: 'k', does: 'previous job', run: () => move(-1) },
    { keys: 'Escape', does: 'close the job', run: () => setQuery({ job: '' }) },
    { keys: 'x', does: 'all types', run: () => setQuery({ type: '' }) },
  ]);
  const slash = name.indexOf('/');
  return (
    <section class="view jobs-view">
      <div class="view-head">
        <h1>Jobs</h1>
        <TypeFilter jobs={jobs} chosen={taskType} />
        <TenantBox />
      </div>
      {board.error.value !== undefined && <Failure error={board.error.value} onRetry={board.reload} />}
      {!board.data.value && board.error.value === undefined && <Waiting what="jobs" />}
      {board.data.value && (
        <div class={slash > 0 ? 'beside has-side' : 'beside'}>
          {jobs.length === 0 ? (
            <NoJobs isFiltered={taskType !== undefined} />
          ) : (
            <Columns board={board.data.value} chosen={name} />
          )}
          {slash > 0 && (
            <JobPanel
              key={`${tenant} ${name}`}
              name={{ taskType: name.slice(0, slash), taskId: name.slice(slash + 1) }}
              tenant={tenant}
              shown={jobs.find((job) => nameOf(job) === name)}
              onChange={board.reload}
            />
          )}
        </div>
      )}
    </section>
  );
}

function nameOf({ taskType, taskId }: Job): string {
  return `${taskType}/${taskId}`;
}

function TypeFilter({ jobs, chosen }: { jobs: readonly Job[]; chosen: string | undefined }) {
  const types = [...new Set([...jobs.map(({ taskType }) => taskType), ...(chosen ? [chosen] : [])])].sort();
  return (
    <label>
      <span class="unseen">Type of job</span>
      <select
        class={chosen ? 'set' : undefined}
        value={chosen ?? ''}
        onChange={(event) => setQuery({ type: event.currentTarget.value }, {})}
      >
        <option value="">all types</option>
        {types.map((type) => (
          <option key={type} value={type}>
            {type}
          </option>
        ))}
      </select>
    </label>
  );
}

function Columns({ board, chosen }: { board: Board; chosen: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <div class="board" tabIndex={0} role="group" aria-label="Jobs by state">
      {LISTED_STATES.map((state) => {
        const { items, next } = board.get(state) ?? { items: [] };
        return (
          <section key={state} class="board-column" aria-label={`${state} jobs`}>
            <h2>
              <Status status={state.toUpperCase()} />
              <span class="quiet">
                {countText(items.length)}
                {next !== undefined && '+'}
              </span>
            </h2>
            <ol>
              {items.map((job) => (
                <JobCard key={nameOf(job)} job={job} isChosen={nameOf(job) === chosen} />
              ))}
            </ol>
            {next !== undefined && (
              <p class="quiet">
                <Icon name="more" /> and more: showing the {countText(items.length)} least recently updated.
              </p>
            )}
          </section>
        );
      })}
    </div>
  );
}

function NoJobs({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return <NothingFits title="No jobs of this type" offer="Show all types" onTake={() => setQuery({ type: '' })} />;
  return (
    <Empty icon="jobs" title="No jobs yet">
      <p>A job is work that one worker at a time claims under a lease. Add the first one:</p>
      <Command>{`tidemark jobs add email-send/mail-1 --field to=ada@example.com --store ${location.origin}`}</Command>
    </Empty>
  );
}
