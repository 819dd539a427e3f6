/** The store of the server, and the failures that an acknowledged write survives there. */
import { ask } from '../live/http.ts';
import { useResource } from '../live/resource.ts';

const SURVIVES: Record<string, string> = {
  none: 'nothing; data is lost when the process ends',
  'process-crash': 'a crash of the process',
  'host-crash': 'a power failure',
  'node-loss': 'the loss of a machine',
  unknown: 'unknown; run `tidemark doctor`',
};

export function StoreBadge() {
  const info = useResource('info', (signal) => ask('GET /v1/info', { signal }));
  const { backend, version, durability, tenantId } = info.data.value ?? {};
  if (backend === undefined || durability === undefined) return <span class="store-badge" />;
  return (
    <span class="store-badge" title={`${backend} ${version}; an acknowledged write survives: ${SURVIVES[durability]}`}>
      {backend}
      {tenantId !== undefined && ` · ${tenantId}`}
    </span>
  );
}
