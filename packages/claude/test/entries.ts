/** Sample entries of transcripts. */
import type { SessionKey, SessionStoreEntry } from '@anthropic-ai/claude-agent-sdk';

export const SESSION: SessionKey = { projectKey: '-home-ada', sessionId: 'session-1' };

/** Returns an entry with a uuid, whose title the summary of the session contains. */
export function summaryEntry(uuid: string): SessionStoreEntry {
  return { type: 'custom-title', uuid, timestamp: '2026-01-02T03:04:05.678Z', customTitle: `title ${uuid}` };
}
