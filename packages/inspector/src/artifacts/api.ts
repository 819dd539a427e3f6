/** Server requests of the artifact views. */
import type { ArtifactRef, ArtifactScope, Page } from '@tidemark/core/portable';
import { ask, request } from '../live/http.ts';
import type { Tenant } from '../live/tenant.ts';

export function listArtifacts(
  scope: ArtifactScope,
  page: { cursor: string | undefined; limit: number },
  tenant: Tenant,
  signal: AbortSignal,
): Promise<Page<ArtifactRef>> {
  return ask('GET /v1/artifacts', { query: { ...scopeQuery(scope), ...page, tenant }, signal });
}

/** Reads the first bytes of an artifact, at most `most`. */
export async function readStart(
  { id }: ArtifactRef,
  most: number,
  tenant: Tenant,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const response = await request('GET /v1/artifacts/{id}', { params: { id }, query: { tenant }, signal });
  const reader = response.body!.getReader();
  const chunks: Uint8Array[] = [];
  for (let size = 0; size < most; ) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    size += value.length;
  }
  await reader.cancel();
  return new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer()).subarray(0, most);
}

/** Reads the whole artifact as an octet stream, which browsers download instead of opening. */
export async function readWhole({ id }: ArtifactRef, tenant: Tenant): Promise<Blob> {
  const response = await request('GET /v1/artifacts/{id}', { params: { id }, query: { tenant } });
  return new Blob([await response.blob()], { type: 'application/octet-stream' });
}

function scopeQuery(scope: ArtifactScope): { scope?: ArtifactScope } {
  return Object.values(scope).some((part) => part) ? { scope } : {};
}
