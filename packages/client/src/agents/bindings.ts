/** Remote workers over HTTP, by trace and by the session of their router. */
import type { FormsOf } from '../calls.ts';

export const BINDING_FORMS = {
  saveRemoteBinding: { route: 'POST /v1/bindings', takes: [['binding', '*'], ['options?']] },
  listRemoteBindings: {
    route: 'GET /v1/traces/{traceId}/bindings',
    takes: ['traceId', ['options?']],
    answer: 'items',
  },
  findBinding: {
    route: 'POST /v1/bindings/find',
    takes: [['query', '*'], ['options?']],
    reads: true,
    answer: 'binding',
  },
  listBindings: {
    route: 'GET /v1/sessions/{sessionId}/bindings',
    takes: ['sessionId', ['options?']],
    answer: 'items',
  },
  markBindingTerminal: {
    route: 'POST /v1/bindings/terminal',
    takes: [['binding', 'traceId', 'contextId', 'taskId'], ['options?']],
    answer: 'found',
  },
} as const satisfies FormsOf<'agents'>;
