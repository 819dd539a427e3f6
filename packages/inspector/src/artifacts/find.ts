/** Finds artifacts by a part of their id, name or hash. */
import type { Finding } from '../shell/finding.ts';
import { hrefOf } from '../shell/router.ts';
import { currentTenant } from '../shell/tenant-box.tsx';
import { listArtifacts } from './api.ts';

const LOOKED_AT = 1_000;
const MOST = 5;

export async function findArtifacts(text: string, signal: AbortSignal): Promise<Finding[]> {
  const tenant = currentTenant();
  const { items } = await listArtifacts({}, { cursor: undefined, limit: LOOKED_AT }, tenant, signal);
  const similar = items.filter(({ id, filename, sha256 }) =>
    [id, filename ?? '', sha256].some((word) => word.toLowerCase().includes(text.toLowerCase())),
  );
  return similar.slice(0, MOST).map(({ id, filename, scope }) => ({
    kind: 'artifact',
    icon: 'artifacts',
    title: filename ?? id,
    ...(scope.sessionId && { detail: scope.sessionId }),
    href: hrefOf(['artifacts'], { tenant, artifact: id }),
  }));
}
