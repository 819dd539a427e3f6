/**
 * The statements that change the tables of a sink. Each statement may run again, late, or twice at once: a row has the
 * version of the operation that wrote it, a higher version wins, and a removal hides only rows with a lower version.
 */
import { type Column, columnSource, KEY_COLUMNS, LOADED_COLUMNS, PAYLOAD_COLUMNS } from './schema/columns.ts';
import type { Bind } from './sql-api.ts';

export interface Statement {
  text: string;
  binds: Bind[];
}

/** The times of the events of a page. An event keeps its time, so the merge only examines rows in that range. */
export interface TimeRange {
  fromMs: number;
  toMs: number;
}

const SAME_EVENT = KEY_COLUMNS.map((name) => `T.${name} = S.${name}`).join(' AND ');
const SAME_RUN = 'T.TENANT_ID = S.TENANT_ID AND T.RUN_ID = S.RUN_ID AND T.LIFE = S.LIFE';
const PAGE = '(SELECT PARSE_JSON(?) AS PAGE) AS P, LATERAL FLATTEN(INPUT => P.PAGE) AS F';
const KEYS = LOADED_COLUMNS.filter(({ isKey }) => isKey);
const RUN_COLUMNS = KEYS.filter(({ name }) => name !== 'RUN_SEQ');
const REDACTED = LOADED_COLUMNS.filter(({ name }) => name === 'REDACTED');
const sourceOf = (columns: readonly Column[], element: string) =>
  columns.map((column) => columnSource(column, element)).join(',\n    ');
const eventSource = (element: string) => `${sourceOf(LOADED_COLUMNS, element)},
    GET_PATH(${element}, 'version')::BIGINT AS VERSION, CURRENT_TIMESTAMP AS LOADED_AT`;
const NAMES = [...LOADED_COLUMNS.map(({ name }) => name), 'VERSION', 'LOADED_AT'];
const CHANGED = NAMES.filter((name) => !KEY_COLUMNS.some((key) => key === name));

function mergeFrom(schemaName: string, source: string): string {
  return `MERGE INTO ${schemaName}.EVENT_LOG AS T USING (
${source}
) AS S ON ${SAME_EVENT} AND T.PERSISTED_AT BETWEEN TO_TIMESTAMP_TZ(?::BIGINT, 3) AND TO_TIMESTAMP_TZ(?::BIGINT, 3)
WHEN MATCHED AND T.VERSION < S.VERSION THEN UPDATE SET ${CHANGED.map((name) => `${name} = S.${name}`).join(', ')}
WHEN NOT MATCHED THEN INSERT (${NAMES.join(', ')}) VALUES (${NAMES.map((name) => `S.${name}`).join(', ')})`;
}

/** Merges a page that is part of the request. Each row has its version. */
export function mergePage(schemaName: string, page: string, times: TimeRange): Statement {
  const source = `  SELECT ${eventSource('F.VALUE')}
  FROM ${PAGE}`;
  return { text: mergeFrom(schemaName, source), binds: [page, times.fromMs, times.toMs] };
}

/** Loads a file of a stage into the inbox. Snowflake remembers loaded files, and does not load a file twice. */
export function copyPage(schemaName: string, stage: string, file: string): Statement {
  return {
    text: `COPY INTO ${schemaName}.PAGE_INBOX (NAME, EVENT)
FROM (SELECT '${file}', $1 FROM @${stage})
FILES = ('${file}')
FILE_FORMAT = (TYPE = 'JSON')`,
    binds: [],
  };
}

/** Merges the rows of a file that was loaded into the inbox. */
export function mergeInbox(schemaName: string, file: string, times: TimeRange): Statement {
  const source = `  SELECT ${eventSource('F.EVENT')}
  FROM ${schemaName}.PAGE_INBOX AS F
  WHERE F.NAME = ?::VARCHAR
  QUALIFY ROW_NUMBER() OVER (PARTITION BY ${KEY_COLUMNS.join(', ')} ORDER BY PERSISTED_AT) = 1`;
  return { text: mergeFrom(schemaName, source), binds: [file, times.fromMs, times.toMs] };
}

export function clearInbox(schemaName: string, file: string): Statement {
  return { text: `DELETE FROM ${schemaName}.PAGE_INBOX WHERE NAME = ?::VARCHAR`, binds: [file] };
}

/**
 * Hides the rows of runs that were loaded before an operation, including rows that a late statement loads afterwards.
 */
export function noteRemovals(schemaName: string, page: string): Statement {
  return {
    text: `MERGE INTO ${schemaName}.RUN_REMOVALS AS T USING (
  SELECT ${sourceOf(RUN_COLUMNS, 'F.VALUE')},
    GET_PATH(F.VALUE, 'version')::BIGINT AS REMOVED_BEFORE
  FROM ${PAGE}
) AS S ON ${SAME_RUN}
WHEN MATCHED AND T.REMOVED_BEFORE < S.REMOVED_BEFORE THEN UPDATE SET REMOVED_BEFORE = S.REMOVED_BEFORE, NOTED_AT = CURRENT_TIMESTAMP
WHEN NOT MATCHED THEN INSERT (TENANT_ID, RUN_ID, LIFE, REMOVED_BEFORE, NOTED_AT)
  VALUES (S.TENANT_ID, S.RUN_ID, S.LIFE, S.REMOVED_BEFORE, CURRENT_TIMESTAMP)`,
    binds: [page],
  };
}

/** Empties the payloads of events. */
export function redact(schemaName: string, page: string): Statement {
  return {
    text: `MERGE INTO ${schemaName}.EVENT_LOG AS T USING (
  SELECT ${sourceOf([...KEYS, ...REDACTED], 'F.VALUE')},
    GET_PATH(F.VALUE, 'version')::BIGINT AS VERSION
  FROM ${PAGE}
) AS S ON ${SAME_EVENT}
WHEN MATCHED AND T.VERSION < S.VERSION THEN UPDATE SET ${PAYLOAD_COLUMNS.map((name) => `${name} = NULL`).join(', ')},
  REDACTED = S.REDACTED, VERSION = S.VERSION, LOADED_AT = CURRENT_TIMESTAMP`,
    binds: [page],
  };
}

/** Deletes the rows that removals of the last day hide. */
export function purgeRemoved(schemaName: string): Statement {
  return {
    text: `DELETE FROM ${schemaName}.EVENT_LOG WHERE EXISTS (
  SELECT 1 FROM ${schemaName}.RUN_REMOVALS AS R
  WHERE R.TENANT_ID = EVENT_LOG.TENANT_ID AND R.RUN_ID = EVENT_LOG.RUN_ID AND R.LIFE = EVENT_LOG.LIFE
    AND EVENT_LOG.VERSION < R.REMOVED_BEFORE AND R.NOTED_AT > DATEADD('hour', -24, CURRENT_TIMESTAMP)
)`,
    binds: [],
  };
}

/**
 * Deletes rows that processes wrote after they had lost their shard: rows that a removal of the last day hides, older
 * versions of events that were loaded in the last day, and pages left behind by killed processes.
 */
export function purge(schemaName: string): Statement[] {
  const others = [
    `DELETE FROM ${schemaName}.EVENT_LOG WHERE EVENT_LOG.LOADED_AT > DATEADD('hour', -24, CURRENT_TIMESTAMP) AND EXISTS (
  SELECT 1 FROM ${schemaName}.EVENT_LOG AS N
  WHERE N.TENANT_ID = EVENT_LOG.TENANT_ID AND N.RUN_ID = EVENT_LOG.RUN_ID AND N.LIFE = EVENT_LOG.LIFE
    AND N.RUN_SEQ = EVENT_LOG.RUN_SEQ AND N.VERSION > EVENT_LOG.VERSION
)`,
    `DELETE FROM ${schemaName}.PAGE_INBOX WHERE STAGED_AT < DATEADD('hour', -24, CURRENT_TIMESTAMP)`,
  ].map((text) => ({ text, binds: [] }));
  return [purgeRemoved(schemaName), ...others];
}

export function highestVersion(schemaName: string): string {
  return `SELECT MAX(VERSION) AS VERSION FROM (
  SELECT VERSION FROM ${schemaName}.EVENT_LOG UNION ALL SELECT REMOVED_BEFORE AS VERSION FROM ${schemaName}.RUN_REMOVALS
) AS V`;
}
