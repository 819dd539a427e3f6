/** The engines that the operator's calls use. */
import type { TenantPart } from '../contracts/admin.ts';
import type { AgentEngine } from '../engine/agents.ts';
import type { ArtifactEngine } from '../engine/artifacts.ts';
import type { Records } from '../engine/records.ts';
import type { TenancyEngine } from '../engine/tenancy.ts';

export interface AdminEngines {
  tenancy: TenancyEngine;
  agents: AgentEngine;
  artifacts: ArtifactEngine;
  /** The KV records, `null` in a store without KV. */
  records: Records | null;
  /** The parts that this store has and that hold data of tenants. */
  parts: ReadonlySet<TenantPart>;
}
