/** Shows an exported run from a file. The file is read in the browser and is not sent anywhere. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Icon } from '../parts/icons.tsx';
import { Empty, Failure } from '../parts/states.tsx';
import { setQuery } from '../shell/router.ts';
import { openRunFile } from './file-source.ts';
import { Run } from './run.ts';
import { RunPage } from './run-page.tsx';

export function FileView() {
  const run = useSignal<Run | null>(null);
  const error = useSignal<unknown>(undefined);
  useEffect(() => () => run.value?.close(), []);
  const open = async (file: File | undefined) => {
    if (!file) return;
    try {
      const { source } = await openRunFile(file);
      setQuery({ seq: '', open: '', at: '', from: '' });
      run.value?.close();
      run.value = new Run(source);
      error.value = undefined;
    } catch (reason) {
      error.value = reason;
    }
  };
  if (run.value) return <RunPage run={run.value} />;
  return (
    <section
      class="view file-view"
      aria-label="Open a run from a file"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void open(event.dataTransfer?.files[0]);
      }}
    >
      <Empty icon="file" title="Open a run from a file" isPage>
        <p>
          A run that was exported here, or with <code>tidemark runs export</code>, is read in this page. Nothing is sent
          anywhere.
        </p>
        <label class="button">
          <Icon name="file" /> Choose a file
          <input
            type="file"
            class="unseen"
            accept=".ndjson,.jsonl,application/x-ndjson"
            onChange={(event) => open(event.currentTarget.files?.[0])}
          />
        </label>
        <p class="quiet">or drop it here</p>
      </Empty>
      {error.value !== undefined && <Failure error={error.value} />}
    </section>
  );
}
