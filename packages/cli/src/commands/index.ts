/** All commands, in the order help shows them. */
import type { Command } from '../command.ts';
import { aboutCommands } from './about.ts';
import { archiveCommands } from './archive.ts';
import { artifactCommands } from './artifacts.ts';
import { backupCommands } from './backup.ts';
import { conformanceCommands } from './conformance.ts';
import { contextCommands } from './context.ts';
import { copyCommands } from './copy.ts';
import { demoCommands } from './demo.ts';
import { doctorCommands } from './doctor.ts';
import { eraseCommands } from './erase.ts';
import { feedCommands } from './feed.ts';
import { historyCommands } from './history.ts';
import { jobCommands } from './jobs.ts';
import { keyCommands } from './keys.ts';
import { kvCommands } from './kv.ts';
import { memoryCommands } from './memory.ts';
import { migrateCommands } from './migrate.ts';
import { pauseCommands } from './pauses.ts';
import { projectorCommands } from './projector.ts';
import { quarantineCommands } from './quarantine.ts';
import { redactCommands } from './redact.ts';
import { retentionCommands } from './retention.ts';
import { runCommands } from './runs/index.ts';
import { serveCommands } from './serve.ts';
import { sessionCommands } from './sessions.ts';
import { subscriptionCommands } from './subscriptions.ts';
import { sweepCommands } from './sweep.ts';
import { tenantCommands } from './tenants.ts';
import { verifyCommands } from './verify.ts';

export const commands: readonly Command[] = [
  ...historyCommands,
  ...runCommands,
  ...feedCommands,
  ...kvCommands,
  ...jobCommands,
  ...sweepCommands,
  ...sessionCommands,
  ...memoryCommands,
  ...pauseCommands,
  ...artifactCommands,
  ...projectorCommands,
  ...subscriptionCommands,
  ...serveCommands,
  ...keyCommands,
  ...doctorCommands,
  ...verifyCommands,
  ...quarantineCommands,
  ...backupCommands,
  ...copyCommands,
  ...archiveCommands,
  ...retentionCommands,
  ...tenantCommands,
  ...redactCommands,
  ...eraseCommands,
  ...migrateCommands,
  ...conformanceCommands,
  ...contextCommands,
  ...demoCommands,
  ...aboutCommands(() => commands),
];

/** What the nouns are about, and the singular that people type as well. */
export const GROUPS: Readonly<Record<string, { summary: string; alias?: string }>> = {
  runs: { summary: 'Runs and their events', alias: 'run' },
  kv: { summary: 'Records of fields' },
  jobs: { summary: 'Work to be claimed', alias: 'job' },
  sessions: { summary: 'What agents did for whom', alias: 'session' },
  memory: { summary: 'What agents remember' },
  pauses: { summary: 'What waits for somebody', alias: 'pause' },
  artifacts: { summary: 'Files beside the log', alias: 'artifact' },
  projector: { summary: 'Snapshots that follow the log' },
  subscriptions: { summary: 'Who follows the feed', alias: 'subscription' },
  keys: { summary: 'API keys of a server', alias: 'key' },
  quarantine: { summary: 'Runs in which damage was found' },
  archive: { summary: 'Whole runs to files and back' },
  retention: { summary: 'What goes, and when' },
  erase: { summary: 'Remove everything of a tenant or session' },
  migrate: { summary: 'The schema of SQL stores' },
  context: { summary: 'Names for stores' },
};
