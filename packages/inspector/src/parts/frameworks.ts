/** The frameworks whose adapters own runs and records, by the name that appears in keys and labels. */
import { NAME_LABEL, OWNER_LABEL, type RunSummary } from '@tidemark/core/portable';

/** The names that the inspector shows for the data of an adapter. */
export interface Framework {
  title: string;
  /** The word for the adapter's runs. Absent if the adapter writes only records. */
  runs?: string;
}

export const FRAMEWORKS: Readonly<Record<string, Framework>> = {
  'ai-sdk': { title: 'AI SDK', runs: 'streams' },
  claude: { title: 'Claude', runs: 'sessions' },
  langgraph: { title: 'LangGraph' },
  'openai-agents': { title: 'OpenAI Agents', runs: 'sessions' },
};

/** The prefix of the keys of all adapters. */
export const ADAPTERS_PREFIX = 'tidemark.';

/** Returns the framework that owns a run and the run's name in that framework, or `null` for an ordinary run. */
export function ownedName({ labels }: Pick<RunSummary, 'labels'>): { owner: string; name: string } | null {
  const owner = labels[OWNER_LABEL];
  if (owner === undefined) return null;
  return { owner: titleOf(owner), name: labels[NAME_LABEL] ?? '' };
}

/** Returns the title of a framework, or its name if the inspector does not know it. */
function titleOf(adapter: string): string {
  return Object.hasOwn(FRAMEWORKS, adapter) ? FRAMEWORKS[adapter]!.title : adapter;
}

/** Returns the title of the framework whose records have this prefix, or `null`. */
export function frameworkOfPrefix(prefix: string): string | null {
  const adapter = /^tidemark\.([^.]+)\.$/.exec(prefix)?.[1];
  return adapter !== undefined && Object.hasOwn(FRAMEWORKS, adapter) ? FRAMEWORKS[adapter]!.title : null;
}
