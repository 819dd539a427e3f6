/** A live tree of record keys, and a panel for one record. */
import type { WireChange } from '@tidemark/wire';
import { encodeSegment } from '@tidemark/wire';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useResource } from '../live/resource.ts';
import { storeInfo } from '../live/store-info.ts';
import { useTopic } from '../live/stream.ts';
import { Icon } from '../parts/icons.tsx';
import { counted } from '../parts/numbers.ts';
import { rowKeys, useRows } from '../parts/rows.ts';
import { Command, Empty, Failure, NothingFits, Waiting } from '../parts/states.tsx';
import { TextBox } from '../parts/text-box.tsx';
import { Windowed } from '../parts/windowed.tsx';
import { useShortcuts } from '../shell/keys.ts';
import { route, setQuery } from '../shell/router.ts';
import { currentTenant, TenantBox } from '../shell/tenant-box.tsx';
import { KvTree } from './kv-tree.ts';
import { RecordPanel } from './record-panel.tsx';
import { TreeCells } from './tree-cells.tsx';

const ROW_HEIGHT = 28;

export function KvView() {
  const { query } = route.value;
  const [prefix, key] = [query.get('prefix') ?? '', query.get('key')];
  const tenant = currentTenant();
  const name = JSON.stringify([tenant, prefix]);
  const tree = useMemo(() => new KvTree(prefix, tenant), [name]);
  const rows = useRows(ROW_HEIGHT, tree.rows);
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => () => tree.close(), [tree]);
  useEffect(() => {
    if (key !== null) tree.reveal(key);
  }, [tree, key]);
  const info = useResource('info', storeInfo);
  const isWatched = info.data.value?.capabilities['kv.watch'] === true;
  const topic = `kv/${encodeSegment(prefix)}`;
  const onItem = (change: unknown) => tree.receive(change as WireChange);
  const onReset = () => tree.reload();
  useTopic(
    isWatched ? { topic, ...(tenant && { tenantId: tenant }), after: null, onItem, onReset } : null,
    `${name} ${isWatched}`,
  );

  const open = (index: number) => {
    const row = tree.rows.value[index];
    rows.chosen.value = index;
    if (row?.kind === 'branch') tree.toggle(row.prefix);
    else if (row?.kind === 'more') void tree.readOn(row.prefix);
    else if (row) setQuery({ key: row.key }, {});
  };
  useShortcuts('Records', [
    ...rowKeys(rows, 'branch or record', open),
    { keys: '/', does: 'filter by prefix', run: () => search.current?.focus() },
    { keys: 'Escape', does: 'close the record', run: () => setQuery({ key: '' }) },
  ]);

  const { keys, isComplete, isLoading, error } = tree.whole.value;
  return (
    <section class="view kv-view">
      <div class="view-head">
        <h1>Records</h1>
        <label class="search">
          <Icon name="search" />
          <span class="unseen">Keys that begin with</span>
          <TextBox
            box={search}
            type="search"
            placeholder="Keys that begin with …"
            value={prefix}
            onText={(prefix) => setQuery({ prefix })}
          />
        </label>
        <TenantBox />
      </div>
      {error !== undefined && <Failure error={error} onRetry={() => tree.readOn(prefix)} />}
      {keys.size === 0 && key === null ? (
        <NoRecords isLoading={isLoading} isFailed={error !== undefined} prefix={prefix} />
      ) : (
        <div class={key === null ? 'beside' : 'beside has-side'}>
          <div class="beside-list">
            <Windowed
              {...rows.shown}
              label="Keys"
              onOpen={open}
              row={(index) => TreeCells({ row: tree.rows.value[index], openKey: key, changed: tree.changed.value })}
            />
            <p class="count-line quiet" role="status">
              {isComplete ? counted(keys.size, 'record') : `at least ${counted(keys.size, 'record')}`}
              {isLoading && ' · loading'}
            </p>
          </div>
          {key !== null && (
            <RecordPanel key={`${name} ${key}`} name={key} tenant={tenant} topic={isWatched ? topic : null} />
          )}
        </div>
      )}
    </section>
  );
}

function NoRecords({ isLoading, isFailed, prefix }: { isLoading: boolean; isFailed: boolean; prefix: string }) {
  if (isLoading) return <Waiting what="records" />;
  if (isFailed) return null;
  if (prefix !== '')
    return (
      <NothingFits
        title="No key begins with this prefix"
        offer="Show all records"
        onTake={() => setQuery({ prefix: '' })}
      />
    );
  return (
    <Empty icon="kv" title="No records yet">
      <p>A record has named fields under a key of dot-separated names. Write the first one:</p>
      <Command>{`tidemark kv put config.limits max=500 window=1m --store ${location.origin}`}</Command>
    </Empty>
  );
}
