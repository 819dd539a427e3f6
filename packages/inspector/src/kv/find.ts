/** Finds records by the start of their key, and jobs by `type/id`. */
import type { Finding } from '../shell/finding.ts';
import { hrefOf } from '../shell/router.ts';
import { currentTenant } from '../shell/tenant-box.tsx';
import { scanRecords } from './api.ts';

const MOST = 5;
const MAX_BYTES = 512;
const JOB_PREFIX = 'gbe.state.tasks.';

export async function findRecords(text: string, signal: AbortSignal): Promise<Finding[]> {
  if (new TextEncoder().encode(JOB_PREFIX + text).length > MAX_BYTES) return [];
  const tenant = currentTenant();
  const scan = async (prefix: string) => (await scanRecords(prefix, { limit: MOST }, tenant, signal)).items;
  const slash = text.indexOf('/');
  const [records, jobs] = await Promise.all([
    scan(text),
    slash > 0 ? scan(`${JOB_PREFIX}${text.slice(0, slash)}.${text.slice(slash + 1)}`) : [],
  ]);
  const found = jobs.map(({ key }) => {
    const job = key.slice(JOB_PREFIX.length).replace('.', '/');
    return { kind: 'job', icon: 'jobs', title: job, href: hrefOf(['jobs'], { tenant, job }) } as const;
  });
  const named = records.map(({ key }) => {
    return { kind: 'record', icon: 'kv', title: key, href: hrefOf(['kv'], { tenant, key }) } as const;
  });
  return [...found, ...named];
}
