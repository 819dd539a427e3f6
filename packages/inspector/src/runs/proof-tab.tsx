/** Verifies a run: the hash chain, the stored snapshot against the log, and the transitions. */
import type { RunSnapshot, VerifyReport } from '@tidemark/core/portable';
import { useResource } from '../live/resource.ts';
import { Icon } from '../parts/icons.tsx';
import { differences, shortText } from '../parts/json.ts';
import { counted, countText } from '../parts/numbers.ts';
import { Waiting } from '../parts/states.tsx';
import { Time } from '../parts/times.tsx';
import { type RunName, storedSnapshot, verifyRun } from './api.ts';
import { SignedCheckpoint } from './checkpoint-verdict.tsx';
import { EventLine } from './event-line.tsx';
import type { Run } from './run.ts';
import type { RunTabProps } from './run-tab.ts';
import { Pending, Verdict } from './verdict.tsx';

const MAX_DIFFERENCES = 50;
/** Fields that describe how the snapshot was built rather than what the run did. */
const BOOKKEEPING_FIELDS = new Set(['projectedAt', 'version', 'freshness']);

export function ProofTab({ run, head, name }: RunTabProps) {
  return (
    <div class="proof">
      {name ? (
        <>
          <Chain run={run} head={head} name={name} />
          <Stored run={run} head={head} name={name} />
          <SignedCheckpoint name={name} />
        </>
      ) : (
        <Verdict tone="quiet" title="A file cannot be verified by itself">
          <p>
            The hash chain is in the store that the run came from. To verify a copy, restore it there or compare its
            head with <code>tidemark verify</code>.
          </p>
        </Verdict>
      )}
      <Transitions run={run} />
    </div>
  );
}

function Chain({ run, head, name }: { run: Run; head: number; name: RunName }) {
  const report = useResource('chain', (signal) => verifyRun(name, signal));
  const found = report.data.value;
  return (
    <>
      {found ? (
        <ChainVerdict run={run} head={head} report={found} />
      ) : (
        <Pending error={report.error.value} onRetry={report.reload} />
      )}
      <button type="button" class="small" onClick={report.reload} disabled={report.isLoading.value}>
        <Icon name="reload" /> {report.isLoading.value ? 'Verifying …' : 'Verify again'}
      </button>
    </>
  );
}

function ChainVerdict({ run, head, report }: { run: Run; head: number; report: VerifyReport }) {
  const { events, problem, summary } = report;
  // A wrong stored snapshot does not affect the chain and is shown in the next panel.
  const ok = problem === undefined;
  // Events written after the check began are not holes.
  const holes = ok ? Math.max(0, Math.min(head, run.head.value ?? head) - events) : 0;
  return (
    <Verdict
      tone={ok ? 'good' : 'bad'}
      title={ok ? `The hash chain over ${counted(events, 'event')} is valid` : 'The hash chain is broken'}
    >
      {problem && (
        <>
          <p>{problem.reason}</p>
          <EventLine run={run} seq={problem.runSeq} />
        </>
      )}
      {summary && (
        <p>
          The summary in lists is wrong: {summary.field} is not {summary.rule}.
        </p>
      )}
      <p>
        Head <code class="hash">{report.head}</code>
      </p>
      <p class="quiet">
        Each event contains the hash of all events before it: two stores with the same head have the same history.
        {holes > 0 &&
          ` ${counted(holes, 'sequence')} up to ${countText(head)} were added since, or were never written.`}
      </p>
    </Verdict>
  );
}

function Stored({ run, head, name }: { run: Run; head: number; name: RunName }) {
  const both = useResource('stored', async (signal) => {
    const stored = await storedSnapshot(name, signal);
    return { stored, folded: await run.source.snapshot(stored.lastEventSeq, signal) };
  });
  const found = both.data.value;
  if (!found) return <Pending error={both.error.value} onRetry={both.reload} />;
  const drift = differences(comparable(found.stored), comparable(found.folded));
  const behind = Math.max(0, head - found.stored.lastEventSeq);
  return (
    <>
      <Verdict
        tone={drift.length === 0 ? 'good' : 'bad'}
        title={
          drift.length === 0
            ? `Log and stored snapshot agree at event ${countText(found.stored.lastEventSeq)}`
            : `The stored snapshot differs from the log in ${counted(drift.length, 'field')}`
        }
      >
        <ol class="changes">
          {drift.slice(0, MAX_DIFFERENCES).map(({ path, before, after }) => (
            <li key={path}>
              <code>{path}</code> stored <del>{shortText(before, 200)}</del> log <ins>{shortText(after, 200)}</ins>
            </li>
          ))}
        </ol>
      </Verdict>
      <Verdict
        tone={behind === 0 ? 'good' : found.stored.freshness === 'STALE' ? 'warn' : 'busy'}
        title={
          behind === 0
            ? 'The stored snapshot is up to date'
            : `The stored snapshot is ${counted(behind, 'event')} behind`
        }
      >
        <p class="quiet">
          Projected <Time at={found.stored.projectedAt} />, version {found.stored.version},{' '}
          {found.stored.freshness.toLowerCase()}. A projector adds new events; reading the snapshot does too.
        </p>
      </Verdict>
    </>
  );
}

function comparable(snapshot: RunSnapshot): object {
  return Object.fromEntries(Object.entries(snapshot).filter(([name]) => !BOOKKEEPING_FIELDS.has(name)));
}

function Transitions({ run }: { run: Run }) {
  const snapshot = run.snapshot.value;
  if (!snapshot) return <Waiting what="the transitions" />;
  const { violations } = snapshot;
  if (violations.length === 0) return <Verdict tone="good" title="All transitions are valid" />;
  return (
    <Verdict tone="warn" title={`Invalid transitions: ${countText(violations.length)}`}>
      <p class="quiet">These events stay in the log, but did not change the state.</p>
      <ol class="changes">
        {violations.map(({ runSeq, reason }) => (
          <li key={runSeq}>
            <EventLine run={run} seq={runSeq} />
            <span>{reason}</span>
          </li>
        ))}
      </ol>
    </Verdict>
  );
}
