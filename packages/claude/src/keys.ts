/**
 * The kv keys of transcripts. Each key names a log, whose events are the entries of the transcript.
 *
 *     tidemark.claude.session.<project>.<session>            the main transcript of a session
 *     tidemark.claude.part.<project>.<session>.<subpath>     the transcript of a subagent
 */
import type { SessionKey } from '@anthropic-ai/claude-agent-sdk';
import { TidemarkError } from '@tidemark/core';
import { keySegment, type OwnedLog } from '@tidemark/core/adapters';

export const ADAPTER = 'claude';
/** The label of the runs of main transcripts. Its value is the segment of their project. */
export const PROJECT_LABEL = 'tidemark.claude.project';
/** The field of a record that contains the session id of a main transcript. */
export const SESSION_FIELD = 'session';
/** The field of a record that contains the subpath of a subagent's transcript. */
export const SUBPATH_FIELD = 'subpath';

const SESSIONS = 'tidemark.claude.session.';
const PARTS = 'tidemark.claude.part.';

/** Returns the log of a transcript. Throws `INVALID_ARGUMENT` for a key that does not name a transcript. */
export function logOf(key: SessionKey): OwnedLog {
  const project = checkName(key?.projectKey, 'projectKey');
  const session = checkName(key.sessionId, 'sessionId');
  if (key.subpath === undefined) {
    return {
      key: `${projectPrefix(project)}${keySegment(session)}`,
      name: `${project} / ${session}`,
      labels: { [PROJECT_LABEL]: keySegment(project) },
      fields: { [SESSION_FIELD]: session },
    };
  }
  const subpath = checkName(key.subpath, 'subpath');
  return {
    key: `${partsPrefix(project, session)}${keySegment(subpath)}`,
    name: `${project} / ${session} / ${subpath}`,
    fields: { [SUBPATH_FIELD]: subpath },
  };
}

/** Returns the prefix of the main transcripts of a project. */
export function projectPrefix(project: string): string {
  return `${SESSIONS}${keySegment(checkName(project, 'projectKey'))}.`;
}

/** Returns the prefix of the transcripts of the subagents of a session. */
export function partsPrefix(project: string, session: string): string {
  return `${PARTS}${keySegment(checkName(project, 'projectKey'))}.${keySegment(checkName(session, 'sessionId'))}.`;
}

function checkName(value: unknown, field: string): string {
  if (typeof value === 'string' && value !== '') return value;
  const rule = 'must be text that is not empty';
  throw new TidemarkError('INVALID_ARGUMENT', `${field} ${rule}`, { field, rule });
}
