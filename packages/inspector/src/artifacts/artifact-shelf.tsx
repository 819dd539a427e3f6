/** The artifacts of a scope, with one of them opened next to the list. */
import { computed } from '@preact/signals';
import type { ArtifactRef, ArtifactScope } from '@tidemark/core/portable';
import { useMemo } from 'preact/hooks';
import { readUpTo } from '../live/pages.ts';
import { useResource } from '../live/resource.ts';
import type { Tenant } from '../live/tenant.ts';
import { counted, sizeText } from '../parts/numbers.ts';
import { rowKeys, useRows } from '../parts/rows.ts';
import { Command, Empty, Failure, NothingFits, Waiting } from '../parts/states.tsx';
import { Time } from '../parts/times.tsx';
import { Windowed } from '../parts/windowed.tsx';
import { useShortcuts } from '../shell/keys.ts';
import { route, setQuery } from '../shell/router.ts';
import { listArtifacts } from './api.ts';
import { ArtifactPanel } from './artifact-panel.tsx';

const PAGE = 1_000;
const MOST = 20_000;
const ROW_HEIGHT = 34;
const COLUMNS = ['Name', 'Type', 'Size', 'Session', 'Stored'];

export function ArtifactShelf({ scope, tenant }: { scope: ArtifactScope; tenant: Tenant }) {
  const { query } = route.value;
  const [text, openId] = [query.get('q') ?? '', query.get('artifact')];
  const key = JSON.stringify([tenant, scope]);
  const { data, error, reload } = useResource(key, async (signal) => {
    const read = await readUpTo(MOST, (cursor) => listArtifacts(scope, { cursor, limit: PAGE }, tenant, signal));
    read.items.sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt));
    return read;
  });
  const artifacts = useMemo(
    () => computed(() => (data.value?.items ?? []).filter((it) => hasText(it, text))),
    [data, text],
  );
  const rows = useRows(ROW_HEIGHT, artifacts);
  const open = (index: number) => {
    rows.chosen.value = index;
    setQuery({ artifact: artifacts.value[index]?.id }, {});
  };
  useShortcuts('Artifacts', [
    ...rowKeys(rows, 'artifact', open),
    { keys: 'Escape', does: 'close the artifact', run: () => setQuery({ artifact: '' }) },
  ]);
  if (error.value !== undefined) return <Failure error={error.value} onRetry={reload} />;
  if (!data.value) return <Waiting what="artifacts" />;
  const opened = data.value.items.find(({ id }) => id === openId);
  if (artifacts.value.length === 0 && !opened) return <NoArtifacts isFiltered={text !== ''} scope={scope} />;
  return (
    <div class={opened ? 'beside has-side shelf' : 'beside shelf'}>
      <div class="beside-list">
        <Windowed
          {...rows.shown}
          label="Artifacts"
          columns={COLUMNS}
          onOpen={open}
          row={(index) => ({ cells: <ArtifactCells artifact={artifacts.value[index]} /> })}
        />
        <p class="count-line quiet" role="status">
          {!data.value.isComplete && 'at least '}
          {counted(artifacts.value.length, 'artifact')}
        </p>
      </div>
      {opened && <ArtifactPanel key={opened.id} artifact={opened} tenant={tenant} />}
    </div>
  );
}

function hasText({ id, filename, mimeType, scope, sha256 }: ArtifactRef, text: string): boolean {
  const words = [id, filename, mimeType, scope.sessionId, scope.traceId, sha256];
  return text === '' || words.some((word) => word?.toLowerCase().includes(text.toLowerCase()));
}

function ArtifactCells({ artifact }: { artifact: ArtifactRef | undefined }) {
  if (!artifact) return null;
  const { id, filename, mimeType, sizeBytes, scope, createdAt } = artifact;
  return (
    <>
      <span role="gridcell" class="strong" title={filename ?? id}>
        {filename ?? id}
      </span>
      <span role="gridcell" class="quiet">
        {mimeType}
      </span>
      <span role="gridcell" class="number">
        {sizeText(sizeBytes)}
      </span>
      <span role="gridcell" class="quiet">
        {scope.sessionId}
      </span>
      <span role="gridcell">
        <Time at={createdAt} />
      </span>
    </>
  );
}

function NoArtifacts({ isFiltered, scope }: { isFiltered: boolean; scope: ArtifactScope }) {
  if (isFiltered)
    return (
      <NothingFits
        title="No artifact contains this text"
        offer="Show all artifacts"
        onTake={() => setQuery({ q: '' })}
      />
    );
  const session = scope.sessionId ? ` --session ${scope.sessionId}` : '';
  return (
    <Empty icon="artifacts" title="No artifacts yet">
      <p>Files and long texts that agents store appear here. Store the first one:</p>
      <Command>{`tidemark artifacts put report.md${session} --type text/markdown --store ${location.origin}`}</Command>
    </Empty>
  );
}
