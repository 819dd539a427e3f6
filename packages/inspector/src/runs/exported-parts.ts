/** Converts the output of `tidemark runs export`, one part per line, to one event per line. */
import { type ExportedEvent, presentFields, type RunEventRecord, type RunPart } from '@tidemark/core/portable';
import { chunksOf, linesOf } from '@tidemark/wire';

/** Returns the events of the first run in a file of parts, one per line. Returns any other file unchanged. */
export async function eventLines(file: Blob): Promise<Blob> {
  const parts = linesOf(chunksOf(file.stream()));
  const first = partOf((await parts.next()).value ?? '');
  if (!first) return file;
  const blobs = [blobOf(first)];
  for (let part: RunPart | null = first; part && !part.isLast; ) {
    part = partOf((await parts.next()).value ?? '');
    if (part) blobs.push(blobOf(part));
  }
  await parts.return(undefined);
  return new Blob(blobs);
}

function partOf(line: string): RunPart | null {
  // Skips the parsing of long lines that are not parts.
  if (!line.startsWith('{"run":')) return null;
  try {
    return JSON.parse(line) as RunPart;
  } catch {
    return null;
  }
}

function blobOf({ run, events }: RunPart): Blob {
  return new Blob(events.map((event) => `${JSON.stringify(recordOf(event, run))}\n`));
}

function recordOf(event: ExportedEvent, { tenantId, runId }: RunPart['run']): RunEventRecord {
  const { extra, payload, redaction, commitIndex: _, link: __, chainFormat: ___, life: ____, ...envelope } = event;
  return {
    ...(extra === null ? {} : (JSON.parse(extra) as object)),
    ...presentFields(envelope),
    tenantId,
    runId,
    ...(payload === null ? {} : { payload: JSON.parse(payload) as Record<string, unknown> }),
    ...(redaction ? { redacted: { at: redaction.at, by: redaction.by, reason: redaction.reason } } : {}),
  };
}
