/** Command lines that fetch an event with curl or `tidemark`. */
import { addressOf } from '../live/http.ts';
import { quoted } from '../parts/command-line.tsx';
import type { RunName } from './api.ts';

export function curlOf({ tenantId, runId }: RunName, seq: number): string {
  const params = { runId, runSeq: String(seq) };
  const path = addressOf('GET /v1/runs/{runId}/events/{runSeq}', { params, query: { tenantId } });
  return `curl ${quoted(location.origin + path)}`;
}

export function commandLineOf({ tenantId, runId }: RunName, seq: number): string {
  const store = `--store ${quoted(location.origin)}`;
  return `tidemark runs events ${quoted(runId)} --tenant ${quoted(tenantId)} --after-seq ${seq - 1} ${store}`;
}
