/** The list of sessions, most recently active first. */
import { computed } from '@preact/signals';
import type { SessionInfo } from '@tidemark/core/portable';
import { useMemo, useRef } from 'preact/hooks';
import { readUpTo } from '../live/pages.ts';
import { useResource } from '../live/resource.ts';
import { Icon } from '../parts/icons.tsx';
import { counted, countText } from '../parts/numbers.ts';
import { rowKeys, useRows } from '../parts/rows.ts';
import { Command, Empty, Failure, NothingFits, Waiting } from '../parts/states.tsx';
import { TextBox } from '../parts/text-box.tsx';
import { Time } from '../parts/times.tsx';
import { Windowed } from '../parts/windowed.tsx';
import { useShortcuts } from '../shell/keys.ts';
import { hrefOf, navigate, route, setQuery } from '../shell/router.ts';
import { currentTenant, TenantBox } from '../shell/tenant-box.tsx';
import { listSessions } from './api.ts';

const PAGE = 1_000;
const MOST = 50_000;
const ROW_HEIGHT = 34;
const COLUMNS = ['Session', 'Created', 'Last active'];

export function SessionsView() {
  const tenant = currentTenant();
  const text = route.value.query.get('q') ?? '';
  const { data, error, isLoading, reload } = useResource(JSON.stringify([tenant]), async (signal) => {
    const read = await readUpTo(MOST, (cursor) => listSessions({ cursor, limit: PAGE }, tenant, signal));
    read.items.sort((a, b) => Date.parse(b.lastActiveAt) - Date.parse(a.lastActiveAt));
    return read;
  });
  const sessions = useMemo(
    () =>
      computed(() => {
        const items = data.value?.items ?? [];
        return text === '' ? items : items.filter((it) => it.sessionId.toLowerCase().includes(text.toLowerCase()));
      }),
    [data, text],
  );
  const rows = useRows(ROW_HEIGHT, sessions);
  const search = useRef<HTMLInputElement>(null);
  const open = (index: number) => {
    const session = sessions.value[index];
    if (session) navigate(hrefOf(['sessions', session.sessionId], { tenant }));
  };
  useShortcuts('Sessions', [
    ...rowKeys(rows, 'session', open),
    { keys: '/', does: 'search', run: () => search.current?.focus() },
    { keys: 'r', does: 'reload the list', run: reload },
  ]);
  return (
    <section class="view sessions-view">
      <div class="view-head">
        <h1>Sessions</h1>
        <label class="search">
          <Icon name="search" />
          <span class="unseen">Search by id</span>
          <TextBox
            asTyped
            box={search}
            type="search"
            placeholder="Search by id …"
            value={text}
            onText={(text) => setQuery({ q: text.trim() })}
          />
        </label>
        <TenantBox />
        <button type="button" class="bare" onClick={reload} title="Reload the list (r)">
          <Icon name="reload" />
          <span class="unseen">Reload the list</span>
        </button>
      </div>
      {error.value !== undefined && <Failure error={error.value} onRetry={reload} />}
      {sessions.value.length > 0 ? (
        <Windowed
          {...rows.shown}
          label="Sessions"
          columns={COLUMNS}
          onOpen={open}
          row={(index) => ({ cells: <SessionCells session={sessions.value[index]} tenant={tenant} /> })}
        />
      ) : (
        <NoSessions isLoading={isLoading.value} isFailed={error.value !== undefined} isFiltered={text !== ''} />
      )}
      {data.value && (
        <p class="count-line quiet" role="status">
          {counted(sessions.value.length, 'session')}
          {!data.value.isComplete && `, from the first ${countText(data.value.items.length)} by id`}
        </p>
      )}
    </section>
  );
}

function SessionCells({ session, tenant }: { session: SessionInfo | undefined; tenant: string | undefined }) {
  if (!session) return null;
  return (
    <>
      <span role="gridcell" class="strong">
        <a href={hrefOf(['sessions', session.sessionId], { tenant })} tabIndex={-1} title={session.sessionId}>
          {session.sessionId}
        </a>
      </span>
      <span role="gridcell">
        <Time at={session.createdAt} />
      </span>
      <span role="gridcell">
        <Time at={session.lastActiveAt} />
      </span>
    </>
  );
}

function NoSessions(state: { isLoading: boolean; isFailed: boolean; isFiltered: boolean }) {
  if (state.isLoading) return <Waiting what="sessions" />;
  if (state.isFailed) return null;
  if (state.isFiltered)
    return (
      <NothingFits
        title="No session id contains this text"
        offer="Show all sessions"
        onTake={() => setQuery({ q: '' })}
      />
    );
  return (
    <Empty icon="sessions" title="No sessions yet">
      <p>A session is created by its first task, update or steering event:</p>
      <Command>
        {`await store.agents.saveTask({
  sessionId: 'session-1', taskId: 'task-1', status: 'RUNNING', taskType: 'FOREGROUND', priority: 0,
  contextSnapshot: {}, createdAt: now, updatedAt: now,
});`}
      </Command>
      <p>
        Or fill the store with examples: <code>npx tidemark demo</code>
      </p>
    </Empty>
  );
}
