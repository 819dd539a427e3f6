/**
 * The memory of a session. The store keeps only the latest version, so changes are shown only between versions that
 * were loaded while the tab was open.
 */
import type { MemoryRecord } from '@tidemark/core/portable';
import { useEffect, useRef, useState } from 'preact/hooks';
import { readUpTo } from '../live/pages.ts';
import { useResource } from '../live/resource.ts';
import { CopyButton } from '../parts/copy.tsx';
import { type Difference, differences, shortText } from '../parts/json.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { counted, countText } from '../parts/numbers.ts';
import { Command, Empty, Failure, Waiting } from '../parts/states.tsx';
import { Mark } from '../parts/status.tsx';
import { Time } from '../parts/times.tsx';
import { getMemory, listMemory, type MemoryInfo } from './api.ts';
import type { Session } from './session.ts';

const PAGE = 1_000;
const MAX_KEYS = 10_000;
const POLL_MS = 4_000;
const MAX_DIFFERENCES = 200;

export function MemoryTab({ session }: { session: Session }) {
  const { sessionId, tenant } = session;
  const keys = useResource(sessionId, (signal) =>
    readUpTo(MAX_KEYS, (cursor) => listMemory({ cursor, limit: PAGE }, tenant, signal)),
  );
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && keys.reload(), POLL_MS);
    return () => clearInterval(timer);
  }, [keys]);
  if (keys.error.value !== undefined) return <Failure error={keys.error.value} onRetry={keys.reload} />;
  const read = keys.data.value;
  if (!read) return <Waiting what="memory" />;
  const own = read.items.filter(({ key }) => isOfSession(key, sessionId));
  return (
    <div class="memory-tab">
      {!read.isComplete && <p class="tone-warn">Only the first {countText(read.items.length)} keys were checked.</p>}
      {own.length === 0 && (
        <Empty icon="kv" title="No memory for this session">
          <p>Memory states whose key contains the session id appear here:</p>
          <Command>{`await store.agents.saveMemoryState(memoryKey('acme', 'ada', ${JSON.stringify(sessionId)}), { facts: [] });`}</Command>
        </Empty>
      )}
      {own.map((info) => (
        <MemoryCard key={info.key} info={info} session={session} />
      ))}
    </div>
  );
}

/**
 * Whether a key belongs to the session. Keys are `tenant:user:session`, each part escaped, and any part may be the
 * session.
 */
function isOfSession(key: string, sessionId: string): boolean {
  const escaped = sessionId.replaceAll('%', '%25').replaceAll(':', '%3A');
  return key === sessionId || key.split(':').includes(escaped);
}

function MemoryCard({ info, session }: { info: MemoryInfo; session: Session }) {
  const memory = useResource(`${info.key} ${info.version}`, (signal) => getMemory(info.key, session.tenant, signal));
  const last = useRef<MemoryRecord | undefined>(undefined);
  const [change, setChange] = useState<{ since: number; list: Difference[] } | null>(null);
  const record = memory.data.value;
  useEffect(() => {
    if (!record) return;
    const before = last.current;
    if (before && before.version < record.version)
      setChange({ since: before.version, list: differences(before.state, record.state) });
    last.current = record;
  }, [record]);
  const shown = record ?? last.current;
  return (
    <article class="card" aria-label={`Memory ${info.key}`}>
      <header>
        <h2>{info.key}</h2>
        <CopyButton text={info.key} what="key" />
      </header>
      <p class="marks">
        <Mark tone="quiet">{`version ${info.version}`}</Mark>
        <span class="quiet">
          saved <Time at={info.updatedAt} />
        </span>
      </p>
      {memory.error.value !== undefined && <Failure error={memory.error.value} onRetry={memory.reload} />}
      {shown && (
        <JsonTree value={shown.state} label={`State of ${info.key}`} openLevels={3} changed={pathsOf(change)} />
      )}
      {change ? (
        <section aria-label="What changed">
          <h3>
            {counted(change.list.length, 'change')} since version {change.since}
          </h3>
          <ol class="changes">
            {change.list.slice(0, MAX_DIFFERENCES).map(({ path, before, after }) => (
              <li key={path}>
                <code>{path || '/'}</code>
                {before !== undefined && <del>{shortText(before, 200)}</del>}
                {after !== undefined ? <ins>{shortText(after, 200)}</ins> : <span class="quiet">removed</span>}
              </li>
            ))}
          </ol>
        </section>
      ) : (
        <p class="quiet">The store keeps only this version. The next saved version is compared with it here.</p>
      )}
    </article>
  );
}

function pathsOf(change: { list: Difference[] } | null): ReadonlySet<string> {
  return new Set(change?.list.map(({ path }) => path));
}
