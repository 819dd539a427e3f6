/** `fromFlowEvent`: converts a flow's event to the stored form (document 000, AGT-2). */
import type { StoredEvent } from '../contracts/agents.ts';
import type { JsonObject } from '../contracts/common.ts';

/** An event in the form emitted by a flow's runtime. */
export interface FlowEvent {
  eventType: string;
  /** Unix time in seconds, with fractions. */
  ts: number;
  nodeName: string | null;
  nodeId: string | null;
  traceId: string | null;
  attempt: number;
  latencyMs: number | null;
  queueDepthIn: number;
  queueDepthOut: number;
  outgoingEdges: number;
  queueMaxsize: number;
  tracePending: number | null;
  traceInflight: number;
  traceCancelled: boolean;
  /** Extension fields. They are merged into the payload and override its other fields. */
  extra?: JsonObject;
}

/**
 * Converts a flow's event to its stored form. The payload uses snake_case names.
 *
 * @example
 * type FlowEvent = Parameters<typeof fromFlowEvent>[0];
 * const onEvent = async (event: FlowEvent) => store.agents.saveEvent(fromFlowEvent(event));
 */
export function fromFlowEvent(event: FlowEvent): StoredEvent {
  return {
    traceId: event.traceId,
    ts: event.ts,
    kind: event.eventType,
    nodeName: event.nodeName,
    nodeId: event.nodeId,
    payload: {
      ts: event.ts,
      event: event.eventType,
      node_name: event.nodeName,
      node_id: event.nodeId,
      trace_id: event.traceId,
      latency_ms: event.latencyMs,
      q_depth_in: event.queueDepthIn,
      q_depth_out: event.queueDepthOut,
      q_depth_total: event.queueDepthIn + event.queueDepthOut,
      outgoing: event.outgoingEdges,
      queue_maxsize: event.queueMaxsize,
      attempt: event.attempt,
      trace_inflight: event.traceInflight,
      trace_cancelled: event.traceCancelled,
      ...(event.tracePending === null ? {} : { trace_pending: event.tracePending }),
      ...event.extra,
    },
  };
}
