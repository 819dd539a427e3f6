/** All views, for the navigation, the shortcuts and the frame. To add a view, add an entry here. */
import type { ComponentType } from 'preact';
import { PausesView } from '../agents/pauses-view.tsx';
import { SessionView } from '../agents/session-view.tsx';
import { SessionsView } from '../agents/sessions-view.tsx';
import { ArtifactsView } from '../artifacts/artifacts-view.tsx';
import { AttentionCount } from '../attention/attention-count.tsx';
import { AttentionView } from '../attention/attention-view.tsx';
import { JobsView } from '../jobs/jobs-view.tsx';
import { KvView } from '../kv/kv-view.tsx';
import type { IconName } from '../parts/icons.tsx';
import { FileView } from '../runs/file-view.tsx';
import { RunView } from '../runs/run-view.tsx';
import { RunsView } from '../runs/runs-view.tsx';
import { route } from './router.ts';

export interface View {
  /** The first segment of the view's address. */
  name: string;
  title: string;
  icon: IconName;
  /** The key that opens the view after `g`. */
  key: string;
  /** The page at the view's address. */
  page: ComponentType;
  /** The page of one item, with the ids that follow in the address. */
  detail?: ComponentType<{ ids: string[] }>;
  /** A component that is shown next to the view's link. */
  badge?: ComponentType;
}

export const VIEWS: readonly View[] = [
  { name: 'attention', title: 'Attention', icon: 'attention', key: 'a', page: AttentionView, badge: AttentionCount },
  { name: 'runs', title: 'Runs', icon: 'runs', key: 'r', page: RunsView, detail: RunView },
  { name: 'kv', title: 'Records', icon: 'kv', key: 'k', page: KvView },
  { name: 'jobs', title: 'Jobs', icon: 'jobs', key: 'j', page: JobsView },
  { name: 'sessions', title: 'Sessions', icon: 'sessions', key: 's', page: SessionsView, detail: SessionView },
  { name: 'pauses', title: 'Pauses', icon: 'pauses', key: 'p', page: PausesView },
  { name: 'artifacts', title: 'Artifacts', icon: 'artifacts', key: 'f', page: ArtifactsView },
  { name: 'file', title: 'Open file', icon: 'file', key: 'o', page: FileView },
];

/** Returns the view of the current address; `undefined` on the start page and for unknown addresses. */
export function currentView(): View | undefined {
  return VIEWS.find((view) => view.name === route.value.segments[0]);
}
