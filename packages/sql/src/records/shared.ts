/** How an engine can let concurrent calls of `kv` records share statements. */
import type {
  EngineCall,
  FirstClaimed,
  FirstClaims,
  RecordName,
  RecordOutcome,
  RecordWrite,
  StoredRecord,
} from '@tidemark/core/engine';
import type { MadeChange } from './step.ts';

/** Calls that share statements with concurrent calls. Each call has its own outcome. */
export interface SharedRecords {
  write(write: RecordWrite, call: EngineCall): Promise<RecordOutcome>;
  get(name: RecordName, call: EngineCall): Promise<StoredRecord | null>;
  getField(name: RecordName, field: string, call: EngineCall): Promise<Uint8Array | null>;
  claimFirst(tenantId: string, step: FirstClaims, call: EngineCall): Promise<FirstClaimed>;
  awaitClaims(tenantId: string, taskType: string, call: EngineCall): Promise<void>;
  /** Resolves when every accepted write has settled. */
  drain(): Promise<void>;
}

/** The calls without sharing, to which shared calls fall back. */
export interface AloneRecords {
  /** Performs a step in a separate transaction, with locks. */
  write(write: RecordWrite, call: EngineCall): Promise<RecordOutcome>;
  /** Reports committed changes to the watchers of this process. */
  report(changes: readonly MadeChange[]): void;
}
