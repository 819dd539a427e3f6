/** A run on the server, live. */
import type { RunEventRecord } from '@tidemark/core/portable';
import { encodeSegment } from '@tidemark/wire';
import { useEffect, useMemo } from 'preact/hooks';
import { useResource } from '../live/resource.ts';
import { useTopic } from '../live/stream.ts';
import { Waiting } from '../parts/states.tsx';
import { route } from '../shell/router.ts';
import { firstEvent, type RunName } from './api.ts';
import { Run } from './run.ts';
import { NoRun, NoSuchRun, RunPage } from './run-page.tsx';
import { serverSource } from './server-source.ts';

export function RunView({ ids: [runId = ''] }: { ids: string[] }) {
  const tenantId = route.value.query.get('tenant');
  return tenantId === null ? <FindTenant runId={runId} /> : <ServerRun key={tenantId} name={{ tenantId, runId }} />;
}

/** Finds the tenant if the address contains none. This works if only one tenant has a run with this id. */
function FindTenant({ runId }: { runId: string }) {
  const found = useResource(runId, (signal) => firstEvent(runId, signal));
  if (found.error.value !== undefined) return <NoRun runId={runId} error={found.error.value} />;
  if (found.data.value === undefined) return <Waiting what="the run" />;
  return found.data.value ? <ServerRun name={found.data.value} /> : <NoSuchRun />;
}

function ServerRun({ name }: { name: RunName }) {
  const run = useMemo(() => new Run(serverSource(name)), [name.tenantId, name.runId]);
  useEffect(() => () => run.close(), [run]);
  const head = run.head.value;
  const isKnown = head !== null && head > 0;
  const topic = `runs/${encodeSegment(name.runId)}`;
  const onItem = (event: unknown) => run.receive(event as RunEventRecord);
  useTopic(isKnown ? { topic, tenantId: name.tenantId, after: String(head), onItem } : null, `${topic} ${isKnown}`);
  return <RunPage run={run} name={name} />;
}
