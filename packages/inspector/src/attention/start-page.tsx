/** The start page: the attention view if anything needs attention, otherwise the list of runs. */
import { useRef } from 'preact/hooks';
import { Waiting } from '../parts/states.tsx';
import { RunsView } from '../runs/runs-view.tsx';
import { attentionCount, concernGroups, useAttention } from './attention.ts';
import { AttentionView } from './attention-view.tsx';

export function StartPage() {
  // Decided only once, so that the page does not change while the user reads it.
  const chosen = useRef<typeof RunsView | typeof AttentionView | null>(null);
  useAttention();
  if (concernGroups.value !== null) chosen.current ??= attentionCount.value > 0 ? AttentionView : RunsView;
  const Chosen = chosen.current;
  return Chosen === null ? <Waiting what="what needs attention" /> : <Chosen />;
}
