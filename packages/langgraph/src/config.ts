/** Reads threads, namespaces and checkpoint ids from the configurations that LangGraph passes. */
import type { RunnableConfig } from '@langchain/core/runnables';
import type { Branch } from './keys.ts';
import { refuse } from './refuse.ts';

/** Returns the thread and the namespace of a configuration. The namespace is empty for the outermost graph. */
export function branchOf(config: RunnableConfig): Branch {
  const thread = textMember(config, 'thread_id');
  if (thread === undefined || thread === '') {
    throw refuse('configurable.thread_id', 'is required: pass { configurable: { thread_id: "…" } }');
  }
  return { thread, namespace: textMember(config, 'checkpoint_ns') ?? '' };
}

/** Returns the thread of a configuration, or `undefined` if it names none. */
export function threadOf(config: RunnableConfig): string | undefined {
  return textMember(config, 'thread_id');
}

/** Returns the namespace of a configuration, or `undefined` if it names none. */
export function namespaceOf(config: RunnableConfig): string | undefined {
  return textMember(config, 'checkpoint_ns');
}

/** Returns the checkpoint id of a configuration, or `undefined` for the latest. `thread_ts` is its old name. */
export function checkpointIdOf(config: RunnableConfig | undefined): string | undefined {
  if (config === undefined) return undefined;
  return textMember(config, 'checkpoint_id') || textMember(config, 'thread_ts') || undefined;
}

/** Returns the configuration of a checkpoint. */
export function configOf({ thread, namespace }: Branch, checkpointId: string): RunnableConfig {
  return { configurable: { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: checkpointId } };
}

function textMember(config: RunnableConfig, name: string): string | undefined {
  const value: unknown = config.configurable?.[name];
  if (value === undefined || value === null) return undefined;
  // Threads often have numbers as ids. As in LangGraph's SQL savers, a number and its text name the same thread.
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (typeof value !== 'string') throw refuse(`configurable.${name}`, 'must be text');
  return value;
}
