/** The opened events next to the list, most recently opened first. */
import type { RunEventRecord } from '@tidemark/core/portable';
import { useResource } from '../live/resource.ts';
import { CopyButton } from '../parts/copy.tsx';
import { durationText } from '../parts/durations.ts';
import { Icon } from '../parts/icons.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { sizeText } from '../parts/numbers.ts';
import { Pair } from '../parts/pair.tsx';
import { Failure, Waiting } from '../parts/states.tsx';
import { hrefOf, route, setQuery } from '../shell/router.ts';
import type { RunName } from './api.ts';
import { commandLineOf, curlOf } from './commands.ts';
import { lookOf, skewOf } from './event-kinds.ts';
import { EventFlags } from './event-row.tsx';
import type { Run } from './run.ts';

/** The value of `?open=` after the reader has closed all events. */
export const NONE_OPEN = 'none';

interface CardsProps {
  run: Run;
  seqs: readonly number[];
  name: RunName | undefined;
}

export function EventCards({ run, seqs, name }: CardsProps) {
  const close = (seq: number) => setQuery({ open: seqs.filter((it) => it !== seq).join(',') || NONE_OPEN });
  return (
    <aside class="event-cards" aria-label="Opened events">
      {seqs.toReversed().map((seq) => (
        <EventCard key={seq} run={run} seq={seq} name={name} onClose={() => close(seq)} />
      ))}
    </aside>
  );
}

interface CardProps {
  run: Run;
  seq: number;
  name: RunName | undefined;
  onClose(): void;
}

function EventCard({ run, seq, name, onClose }: CardProps) {
  const found = useResource(String(seq), () => run.pages.get(seq));
  const event = found.data.value;
  const { icon, tone } = lookOf(event?.eventType ?? '');
  return (
    <article class="card">
      <header>
        <h2 class={`tone-${tone}`}>
          <Icon name={icon} />
          <span>
            #{seq} {event?.eventType}
          </span>
        </h2>
        <button type="button" class="bare" onClick={onClose}>
          <Icon name="close" />
          <span class="unseen">Close event {seq}</span>
        </button>
      </header>
      {found.error.value !== undefined && <Failure error={found.error.value} onRetry={found.reload} />}
      {event === undefined && found.error.value === undefined && <Waiting what="the event" />}
      {event === null && <p class="quiet">This sequence was never written.</p>}
      {event && <EventBody event={event} run={run} name={name} />}
    </article>
  );
}

function EventBody({ event, run, name }: { event: RunEventRecord; run: Run; name: RunName | undefined }) {
  const { payload, redacted, stepId, emittedAt, persistedAt } = event;
  const violation = run.snapshot.value?.violations.find(({ runSeq }) => runSeq === event.runSeq);
  const here = Object.fromEntries(route.value.query);
  return (
    <>
      <div class="card-tools">
        <CopyButton text={() => JSON.stringify(event, null, 2)} what="event as JSON">
          JSON
        </CopyButton>
        <CopyButton text={() => linkTo(event.runSeq)} what="link">
          link
        </CopyButton>
        {name && (
          <>
            <CopyButton text={() => curlOf(name, event.runSeq)} what="as curl">
              curl
            </CopyButton>
            <CopyButton text={() => commandLineOf(name, event.runSeq)} what="as command line">
              CLI
            </CopyButton>
          </>
        )}
        <a class="button small" href={hrefOf(route.value.segments, { ...here, tab: 'state', at: event.runSeq })}>
          <Icon name="kv" /> State here
        </a>
      </div>
      {violation && (
        <p class="tone-warn">
          <Icon name="attention" /> Not allowed in this state: {violation.reason}. The event did not change the state.
        </p>
      )}
      {redacted && (
        <p class="tone-warn">
          The payload was redacted by {redacted.by} at {redacted.at}: {redacted.reason}
        </p>
      )}
      <dl class="pairs">
        {stepId !== undefined && (
          <Pair name="Step">
            {stepId}, attempt {event.logicalAttemptId}
            {event.engineAttemptId > 1 && ` (engine ${event.engineAttemptId})`}
          </Pair>
        )}
        <Pair name="Emitted">{emittedAt}</Pair>
        <Pair name="Stored">
          {persistedAt} <span class="quiet">{skewText(event)}</span>
        </Pair>
        <Pair name="Event id">{event.eventId}</Pair>
        <Pair name="Key">{event.idempotencyKey}</Pair>
      </dl>
      <div class="marks">
        <EventFlags event={event} snapshot={run.snapshot.value} />
      </div>
      {payload !== undefined && (
        <section>
          <h3>
            Payload <span class="quiet">{sizeText(JSON.stringify(payload).length)}</span>
          </h3>
          <JsonTree value={payload} label={`Payload of event ${event.runSeq}`} />
        </section>
      )}
      <details>
        <summary>All fields of the event</summary>
        <JsonTree value={withoutPayload(event)} label={`Envelope of event ${event.runSeq}`} />
      </details>
    </>
  );
}

function withoutPayload({ payload: _, ...envelope }: RunEventRecord): object {
  return envelope;
}

function skewText(event: RunEventRecord): string {
  const skew = skewOf(event);
  if (skew === 0) return 'at the same time';
  return skew > 0 ? `${durationText(skew)} later` : `${durationText(-skew)} earlier: the clocks differ`;
}

function linkTo(seq: number): string {
  const query = { ...Object.fromEntries(route.value.query), seq, open: seq };
  return new URL(hrefOf(route.value.segments, query), location.origin).href;
}
