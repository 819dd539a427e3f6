/** Where a reader arrives: what needs attention if anything does, else the runs. */
import { useRef } from 'preact/hooks';
import { Waiting } from '../parts/states.tsx';
import { RunsView } from '../runs/runs-view.tsx';
import { attentionCount, concernGroups, useFirstLook } from './attention.ts';
import { AttentionView } from './attention-view.tsx';

export function StartPage() {
  // Decided once: a page does not turn into another while it is read.
  const chosen = useRef<typeof RunsView | typeof AttentionView | null>(null);
  useFirstLook();
  if (concernGroups.value !== null) chosen.current ??= attentionCount.value > 0 ? AttentionView : RunsView;
  const Chosen = chosen.current;
  return Chosen === null ? <Waiting what="what needs attention" /> : <Chosen />;
}
