/** Shorthands for defining cases: each fills in the domain and its capability. */
import type { ConformanceCase } from '../kit.ts';

type CaseBody = Omit<ConformanceCase, 'domain'>;

export function runsCase(body: CaseBody): ConformanceCase {
  return { ...body, domain: 'runs', needs: ['runs', ...(body.needs ?? [])] };
}

export function kvCase(body: CaseBody): ConformanceCase {
  return { ...body, domain: 'kv', needs: ['kv', ...(body.needs ?? [])] };
}

export function jobsCase(body: CaseBody): ConformanceCase {
  return { ...body, domain: 'jobs', needs: ['jobs', ...(body.needs ?? [])] };
}

export function generalCase(body: CaseBody): ConformanceCase {
  return { ...body, domain: 'general' };
}
