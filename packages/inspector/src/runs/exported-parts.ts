/** What `tidemark runs export` writes, a part of a run a line, as the events it holds. */
import type { ExportedEvent, RunEventRecord, RunPart } from '@tidemark/core/portable';

/** A file of parts as one event a line, of its first run; any other file as it is. */
export async function eventLines(file: Blob): Promise<Blob> {
  const parts = linesOf(file);
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

async function* linesOf(file: Blob): AsyncGenerator<string, undefined> {
  const reader = file
    .stream()
    .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .getReader();
  let text = '';
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      const lines = (text + chunk.value).split('\n');
      text = lines.pop()!;
      yield* lines;
    }
    if (text !== '') yield text;
  } finally {
    await reader.cancel();
  }
}

function partOf(line: string): RunPart | null {
  // A line of one event may be long too: only what looks like a part is parsed whole.
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
  const { extra, payload, stepId, redaction, commitIndex: _, link: __, ...envelope } = event;
  return {
    ...(extra === null ? {} : (JSON.parse(extra) as object)),
    ...envelope,
    tenantId,
    runId,
    ...(stepId === null ? {} : { stepId }),
    ...(payload === null ? {} : { payload: JSON.parse(payload) as Record<string, unknown> }),
    ...(redaction ? { redacted: { at: redaction.at, by: redaction.by, reason: redaction.reason } } : {}),
  };
}
