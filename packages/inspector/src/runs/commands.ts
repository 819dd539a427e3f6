/** The same event outside the page: as a request, and on the command line. */
import { address, resource } from '../live/http.ts';
import { quoted } from '../parts/command-line.tsx';
import type { RunName } from './api.ts';

export function curlOf({ tenantId, runId }: RunName, seq: number): string {
  const path = address(resource('runs', runId, 'events', String(seq)), { tenantId });
  return `curl ${quoted(location.origin + path)}`;
}

export function commandLineOf({ tenantId, runId }: RunName, seq: number): string {
  const store = `--store ${quoted(location.origin)}`;
  return `tidemark runs events ${quoted(runId)} --tenant ${quoted(tenantId)} --after ${seq - 1} ${store}`;
}
