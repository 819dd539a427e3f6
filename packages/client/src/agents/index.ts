/** The agent capabilities over HTTP. */
import type { AgentStore } from '@tidemark/core/portable';
import { methodsOf } from '../calls.ts';
import type { Transport } from '../transport.ts';
import { BINDING_FORMS } from './bindings.ts';
import { EVENT_FORMS, savingEvents } from './events.ts';
import { MEMORY_FORMS } from './memory.ts';
import { PAUSE_FORMS } from './pauses.ts';
import { SESSION_FORMS } from './sessions.ts';

export function httpAgents(transport: Transport): AgentStore {
  return {
    ...methodsOf(transport, 'agents', EVENT_FORMS),
    ...methodsOf(transport, 'agents', BINDING_FORMS),
    ...methodsOf(transport, 'agents', PAUSE_FORMS),
    ...methodsOf(transport, 'agents', MEMORY_FORMS),
    ...methodsOf(transport, 'agents', SESSION_FORMS),
    saveEvents: savingEvents(transport),
  };
}
