/** One artifact: metadata, preview and download. */
import type { ArtifactRef } from '@tidemark/core/portable';
import { useAction } from '../live/action.ts';
import type { Tenant } from '../live/tenant.ts';
import { CommandLine, tidemarkLine } from '../parts/command-line.tsx';
import { CopyButton } from '../parts/copy.tsx';
import { Countdown } from '../parts/countdown.tsx';
import { Icon } from '../parts/icons.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { sizeText } from '../parts/numbers.ts';
import { Pair } from '../parts/pair.tsx';
import { saveFile } from '../parts/save-file.ts';
import { Failure } from '../parts/states.tsx';
import { Time } from '../parts/times.tsx';
import { hrefOf, setQuery } from '../shell/router.ts';
import { readWhole } from './api.ts';
import { Preview } from './preview.tsx';

export function ArtifactPanel({ artifact, tenant }: { artifact: ArtifactRef; tenant: Tenant }) {
  const { id, filename, mimeType, sizeBytes, sha256, scope, namespace, source, expiresAt } = artifact;
  const action = useAction();
  const download = () => action.run(async () => saveFile(await readWhole(artifact, tenant), filename ?? id));
  return (
    <article class="card artifact-panel" aria-label="Artifact">
      <header>
        <h2>{filename ?? id}</h2>
        <button type="button" class="bare" onClick={() => setQuery({ artifact: '' })}>
          <Icon name="close" />
          <span class="unseen">Close the artifact</span>
        </button>
      </header>
      <div class="card-tools">
        <button type="button" class="small" disabled={action.isBusy.value} onClick={download}>
          <Icon name="download" />
          Download
        </button>
        <CopyButton text={id} what="artifact id">
          id
        </CopyButton>
        <CopyButton text={sha256} what="SHA-256">
          SHA-256
        </CopyButton>
      </div>
      {action.error.value !== undefined && <Failure error={action.error.value} onRepeat={action.again} />}
      <CommandLine line={tidemarkLine('artifacts get', [id], tenant)} />
      <dl class="pairs">
        <Pair name="Type">{mimeType ?? 'unknown'}</Pair>
        <Pair name="Size">{sizeText(sizeBytes)}</Pair>
        <Pair name="Stored">
          <Time at={artifact.createdAt} />
        </Pair>
        <Pair name="Expires">
          {expiresAt === null ? 'never' : <Countdown until={Date.parse(expiresAt)} over="expired" />}
        </Pair>
        {scope.sessionId && (
          <Pair name="Session">
            <a href={hrefOf(['sessions', scope.sessionId], { tenant, tab: 'artifacts' })}>{scope.sessionId}</a>
          </Pair>
        )}
        {scope.traceId && <Pair name="Trace">{scope.traceId}</Pair>}
        {scope.userId && <Pair name="User">{scope.userId}</Pair>}
        {namespace !== null && <Pair name="Namespace">{namespace}</Pair>}
        <Pair name="SHA-256">
          <code>{sha256}</code>
        </Pair>
      </dl>
      <Preview artifact={artifact} tenant={tenant} />
      {Object.keys(source).length > 0 && (
        <details>
          <summary>Source</summary>
          <JsonTree value={source} label="Source" />
        </details>
      )}
    </article>
  );
}
