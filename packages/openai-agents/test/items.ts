/** Sample items of sessions. */
import type { AgentInputItem } from '@openai/agents-core';

/** Returns a message of the user. */
export function message(text: string): AgentInputItem {
  return { type: 'message', role: 'user', content: text };
}

/** Returns a function call. */
export function functionCall(callId: string, status: 'in_progress' | 'completed' = 'completed') {
  return { type: 'function_call', callId, name: 'lookUp', status, arguments: `{"id":"${callId}"}` } as const;
}

/** Returns the texts of messages. */
export function textsOf(items: readonly AgentInputItem[]): string[] {
  return items.map((item) => (item as { content: string }).content);
}
