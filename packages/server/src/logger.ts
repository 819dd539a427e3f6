/** The log for operators: one object per line, which never contains a body, a token or a key. */
import { redactMember } from './redaction.ts';

/** Receives what the server logs. */
export interface Logger {
  info(entry: LogEntry): void;
  error(entry: LogEntry): void;
}

/** A line of the log. */
export interface LogEntry {
  /** Name of the event, in snake case. */
  event: string;
  [detail: string]: unknown;
}

/**
 * Logs JSON lines to standard error.
 *
 * @example
 * const server = createServer({ store, logger: stderrLogger });
 * await server.close();
 */
export const stderrLogger: Logger = {
  info: (entry) => write('info', entry),
  error: (entry) => write('error', entry),
};

function write(level: string, entry: LogEntry): void {
  const line = { time: new Date().toISOString(), level, ...entry };
  process.stderr.write(`${JSON.stringify(line, redactMember)}\n`);
}
