import { expect, it } from 'vitest';
import { type FlowEvent, fromFlowEvent } from './flow-event.ts';

const EVENT: FlowEvent = {
  eventType: 'node_error',
  ts: 1702857600.123,
  nodeName: 'llm_node',
  nodeId: 'llm_node_abc123',
  traceId: 'trace_xyz',
  attempt: 1,
  latencyMs: 1523.45,
  queueDepthIn: 1,
  queueDepthOut: 2,
  outgoingEdges: 3,
  queueMaxsize: 1000,
  tracePending: null,
  traceInflight: 5,
  traceCancelled: false,
  extra: { flow_error: { code: 'TOOL_EXECUTION_FAILED' } },
};

it('converts a flow event with the payload names of the document (AGT-2)', () => {
  expect(fromFlowEvent(EVENT)).toStrictEqual({
    traceId: 'trace_xyz',
    ts: 1702857600.123,
    kind: 'node_error',
    nodeName: 'llm_node',
    nodeId: 'llm_node_abc123',
    payload: {
      ts: 1702857600.123,
      event: 'node_error',
      node_name: 'llm_node',
      node_id: 'llm_node_abc123',
      trace_id: 'trace_xyz',
      latency_ms: 1523.45,
      q_depth_in: 1,
      q_depth_out: 2,
      q_depth_total: 3,
      outgoing: 3,
      queue_maxsize: 1000,
      attempt: 1,
      trace_inflight: 5,
      trace_cancelled: false,
      flow_error: { code: 'TOOL_EXECUTION_FAILED' },
    },
  });
});

it('includes trace_pending unless it is null, even when 0', () => {
  expect(fromFlowEvent({ ...EVENT, tracePending: 0 }).payload).toHaveProperty('trace_pending', 0);
});
