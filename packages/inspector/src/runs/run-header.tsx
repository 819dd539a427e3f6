/** The id, status and metadata of a run, with copy and export buttons. */
import type { RunSnapshot } from '@tidemark/core/portable';
import { useResource } from '../live/resource.ts';
import { CopyButton, notifyFailure } from '../parts/copy.tsx';
import { durationText } from '../parts/durations.ts';
import { ADAPTERS_PREFIX, ownedName } from '../parts/frameworks.ts';
import { Icon } from '../parts/icons.tsx';
import { counted } from '../parts/numbers.ts';
import { Failure } from '../parts/states.tsx';
import { Mark, Status } from '../parts/status.tsx';
import { now, Time } from '../parts/times.tsx';
import { useShortcuts } from '../shell/keys.ts';
import { hrefOf } from '../shell/router.ts';
import { quarantineOf, type RunName } from './api.ts';
import { exportRun } from './export.ts';
import type { Run } from './run.ts';

export function RunHeader({ run, name }: { run: Run; name: RunName | undefined }) {
  const snapshot = run.snapshot.value;
  const runId = name?.runId ?? snapshot?.runId ?? '';
  const save = () => notifyFailure(exportRun(run, runId));
  useShortcuts('Run', [{ keys: 'e', does: 'export the run', run: save }]);
  return (
    <header class="run-header">
      <div class="run-title">
        {name && (
          <a class="back" href="/runs" title="All runs">
            <Icon name="back" />
            <span class="unseen">All runs</span>
          </a>
        )}
        <h1 title={runId}>{runId}</h1>
        {snapshot && <Status status={snapshot.status} />}
        {!name && <Mark tone="warn">from a file, read only</Mark>}
        {runId.startsWith(ADAPTERS_PREFIX) && <OwnerMark key={runId} run={run} />}
        {name && <QuarantineMark key={`${name.tenantId} ${name.runId}`} name={name} />}
        <CopyButton text={runId} what="run id" />
        <button type="button" class="small" onClick={save}>
          <Icon name="download" />
          Export
        </button>
      </div>
      {snapshot ? <Facts snapshot={snapshot} /> : <p class="facts quiet">Computing the state …</p>}
      {run.snapshotError.value !== undefined && (
        <Failure error={run.snapshotError.value} onRetry={() => run.loadSnapshot()} />
      )}
    </header>
  );
}

/** Shows the framework that owns the run, and the name that the run has there. */
function OwnerMark({ run }: { run: Run }) {
  const first = useResource('first event', () => run.pages.get(1)).data.value;
  const owned = first?.labels === undefined ? null : ownedName({ labels: first.labels });
  return owned && <Mark tone="quiet">{`${owned.owner} · ${owned.name}`}</Mark>;
}

/** Shows that the run is quarantined. Shows nothing if it is not, or until this is known. */
function QuarantineMark({ name }: { name: RunName }) {
  const quarantine = useResource(`quarantine ${name.tenantId} ${name.runId}`, (signal) => quarantineOf(name, signal));
  const found = quarantine.data.value;
  if (!found) return null;
  return (
    <Mark tone="bad" icon="shield">
      {`quarantined from event ${found.fromSeq} on: ${found.reason}`}
    </Mark>
  );
}

function Facts({ snapshot }: { snapshot: RunSnapshot }) {
  const { tenantId, projectId, environmentId, planId, planVersion, startedAt, error, steps } = snapshot;
  const failed = steps.filter((step) => step.status === 'FAILED').length;
  return (
    <>
      <dl class="facts">
        <Fact name="Plan" href={hrefOf(['runs'], { plan: planId })} value={`${planId} ${planVersion}`} />
        <Fact name="Tenant" href={hrefOf(['runs'], { tenant: tenantId })} value={tenantId} />
        <Fact name="Project" href={hrefOf(['runs'], { project: projectId })} value={projectId} />
        <Fact name="Environment" href={hrefOf(['runs'], { environment: environmentId })} value={environmentId} />
        <div>
          <dt>Started</dt>
          <dd>
            <Time at={startedAt} />
          </dd>
        </div>
        <div>
          <dt>Took</dt>
          <dd>{tookText(snapshot)}</dd>
        </div>
        <div>
          <dt>Steps</dt>
          <dd>
            {counted(steps.length, 'step')}
            {failed > 0 && `, ${failed} failed`}
          </dd>
        </div>
        {snapshot.consistency === 'INCONSISTENT' && (
          <div>
            <dt>Transitions</dt>
            <dd>
              <Mark tone="warn" icon="attention">{`${counted(snapshot.violations.length, 'invalid transition')}`}</Mark>
            </dd>
          </div>
        )}
      </dl>
      {error && (
        <p class="run-error tone-bad">
          <Icon name="cross" /> <strong>{error.code ?? 'failed'}</strong> {error.message}
        </p>
      )}
    </>
  );
}

function Fact({ name, href, value }: { name: string; href: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd title={value}>
        <a href={href}>{value}</a>
      </dd>
    </div>
  );
}

function tookText({ startedAt, completedAt, totalDurationMs }: RunSnapshot): string {
  if (startedAt === undefined) return 'not started';
  if (totalDurationMs !== undefined) return durationText(totalDurationMs);
  const until = completedAt === undefined ? now.value : Date.parse(completedAt);
  return `${durationText(Math.max(0, until - Date.parse(startedAt)))} so far`;
}
