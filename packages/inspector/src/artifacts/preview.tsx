/** Previews the start of an artifact as text, pixels or hex. Its content is never executed, whatever its type. */
import type { ArtifactRef } from '@tidemark/core/portable';
import { base64Of } from '@tidemark/wire';
import { hexOf, jsonOf } from '../kv/decoders.ts';
import { useResource } from '../live/resource.ts';
import type { Tenant } from '../live/tenant.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { sizeText } from '../parts/numbers.ts';
import { Failure, Waiting } from '../parts/states.tsx';
import { readStart } from './api.ts';
import { type PreviewKind, previewKindOf, typeOf } from './preview-kind.ts';

const MAX_BYTES: Record<PreviewKind, number> = { text: 256_000, image: 4_000_000, bytes: 512 };

export function Preview({ artifact, tenant }: { artifact: ArtifactRef; tenant: Tenant }) {
  const kind = previewKindOf(artifact);
  const most = MAX_BYTES[kind];
  const isTooLarge = kind === 'image' && artifact.sizeBytes > most;
  const start = useResource(artifact.id, async (signal) =>
    isTooLarge ? new Uint8Array() : readStart(artifact, most, tenant, signal),
  );
  if (start.error.value !== undefined) return <Failure error={start.error.value} onRetry={start.reload} />;
  const bytes = start.data.value;
  if (!bytes) return <Waiting what="the artifact" />;
  if (isTooLarge) return <p class="quiet">The image is larger than {sizeText(most)}. Download it to view it.</p>;
  return (
    <>
      {kind === 'image' && <Picture artifact={artifact} bytes={bytes} />}
      {kind === 'text' && <Text artifact={artifact} bytes={bytes} />}
      {kind === 'bytes' && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
        <pre class="preview" tabIndex={0}>
          {hexOf(bytes)}
        </pre>
      )}
      {bytes.length < artifact.sizeBytes && (
        <p class="quiet">
          The first {sizeText(bytes.length)} of {sizeText(artifact.sizeBytes)}
        </p>
      )}
    </>
  );
}

/** The page's content security policy allows images from data URLs, and the type is one of `IMAGES`. */
function Picture({ artifact, bytes }: { artifact: ArtifactRef; bytes: Uint8Array }) {
  return (
    <img
      class="preview"
      alt={artifact.filename ?? 'The artifact'}
      src={`data:${typeOf(artifact)};base64,${base64Of(bytes)}`}
    />
  );
}

function Text({ artifact, bytes }: { artifact: ArtifactRef; bytes: Uint8Array }) {
  const text = new TextDecoder().decode(bytes);
  const json = bytes.length === artifact.sizeBytes && /json$/.test(typeOf(artifact)) ? jsonOf(text) : undefined;
  if (json !== undefined) return <JsonTree value={json} label="The artifact" openLevels={3} />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <pre class="preview" tabIndex={0}>
      {text}
    </pre>
  );
}
