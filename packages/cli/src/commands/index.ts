/** All commands, in the order help shows them. */
import type { Command } from '../command.ts';
import { aboutCommands } from './about.ts';
import { archiveCommands } from './archive.ts';
import { artifactCommands } from './artifacts.ts';
import { backupCommands } from './backup.ts';
import { bindingCommands } from './bindings.ts';
import { checkpointCommands } from './checkpoint.ts';
import { conformanceCommands } from './conformance.ts';
import { contextCommands } from './context.ts';
import { copyCommands } from './copy.ts';
import { demoCommands } from './demo.ts';
import { doctorCommands } from './doctor.ts';
import { eraseCommands } from './erase.ts';
import { exportCommands } from './export.ts';
import { feedCommands } from './feed.ts';
import { historyCommands } from './history.ts';
import { importCommands } from './import.ts';
import { jobCommands } from './jobs.ts';
import { keyCommands } from './keys.ts';
import { kvCommands } from './kv.ts';
import { memoryCommands } from './memory.ts';
import { migrateCommands } from './migrate.ts';
import { pauseCommands } from './pauses.ts';
import { placementCommands } from './placement.ts';
import { projectorCommands } from './projector.ts';
import { quarantineCommands } from './quarantine.ts';
import { redactCommands } from './redact.ts';
import { retentionCommands } from './retention.ts';
import { runCommands } from './runs/index.ts';
import { serveCommands } from './serve.ts';
import { sessionCommands } from './sessions.ts';
import { sinkCommands } from './sink.ts';
import { subscriptionCommands } from './subscriptions.ts';
import { sweepCommands } from './sweep.ts';
import { tenantCommands } from './tenants.ts';
import { topCommands } from './top.ts';
import { verifyCommands } from './verify.ts';

export const commands: readonly Command[] = [
  ...historyCommands,
  ...runCommands,
  ...feedCommands,
  ...kvCommands,
  ...jobCommands,
  ...sweepCommands,
  ...sessionCommands,
  ...bindingCommands,
  ...memoryCommands,
  ...pauseCommands,
  ...artifactCommands,
  ...projectorCommands,
  ...subscriptionCommands,
  ...sinkCommands,
  ...topCommands,
  ...serveCommands,
  ...keyCommands,
  ...doctorCommands,
  ...verifyCommands,
  ...checkpointCommands,
  ...quarantineCommands,
  ...backupCommands,
  ...copyCommands,
  ...importCommands,
  ...archiveCommands,
  ...exportCommands,
  ...retentionCommands,
  ...tenantCommands,
  ...placementCommands,
  ...redactCommands,
  ...eraseCommands,
  ...migrateCommands,
  ...conformanceCommands,
  ...contextCommands,
  ...demoCommands,
  ...aboutCommands(() => commands),
];

/** The summary of each command group, and the singular accepted as an alias. */
export const GROUPS: Readonly<Record<string, { summary: string; alias?: string }>> = {
  runs: { summary: 'Runs and their events', alias: 'run' },
  kv: { summary: 'Key-value records' },
  jobs: { summary: 'Jobs that workers claim', alias: 'job' },
  sessions: { summary: 'Agent sessions: tasks, updates, steering and traces', alias: 'session' },
  tenants: { summary: 'List tenants, and move them between PostgreSQL servers' },
  bindings: { summary: 'Remote workers of router sessions', alias: 'binding' },
  memory: { summary: 'Agent memory' },
  pauses: { summary: 'Pauses that wait for an answer', alias: 'pause' },
  artifacts: { summary: 'Stored files', alias: 'artifact' },
  projector: { summary: 'Stored snapshots of runs' },
  subscriptions: { summary: 'Subscriptions to the feed', alias: 'subscription' },
  sink: { summary: 'Copies of runs and steps in Snowflake' },
  keys: { summary: 'API keys of a server', alias: 'key' },
  checkpoint: { summary: 'Signed checkpoints of all runs' },
  import: { summary: 'Data of other systems' },
  quarantine: { summary: 'Damaged runs' },
  archive: { summary: 'Archive runs to files and restore them' },
  retention: { summary: 'Remove or archive old data by policy' },
  erase: { summary: 'Remove all data of a tenant or session' },
  migrate: { summary: 'The schema of SQL stores' },
  context: { summary: 'Names for stores' },
};
