/** The engines that the operator's calls go to. */
import type { TenantPart } from '../contracts/admin.ts';
import type { AgentEngine } from '../engine/agents.ts';
import type { ArtifactEngine } from '../engine/artifacts.ts';
import type { Records } from '../engine/records.ts';
import type { TenancyEngine } from '../engine/tenancy.ts';

/** What the operator's calls reach. */
export interface AdminEngines {
  tenancy: TenancyEngine;
  agents: AgentEngine;
  artifacts: ArtifactEngine;
  /** KV, where the store has it. */
  records: Records | null;
  /** Parts of the store that hold data of a tenant and are there. */
  parts: ReadonlySet<TenantPart>;
}
