/**
 * The marker of a store (UPG-1): the description of the stream of runs names the newest format that its writers may
 * use. A stream that version 0.1 created has no marker.
 */
import { TidemarkError } from '@tidemark/core';
import { type ChainFormat, type EngineCall, NEWEST_CHAIN_FORMAT } from '@tidemark/core/engine';
import type { Link } from '../connection/link.ts';
import { NEWEST_MARKER, type StreamInfo, streamInfo, streamName } from './streams.ts';

const MARKER = /^tidemark format (\d+)$/;

/**
 * Returns the newest chain format that writers may use.
 *
 * @throws `SCHEMA_MISMATCH` for a format that this version does not know.
 */
export async function readMarker(link: Link, prefix: string, call: EngineCall): Promise<ChainFormat> {
  return formatOf(await streamInfo(link, streamName(prefix, 'runs'), call));
}

function formatOf({ config }: StreamInfo): ChainFormat {
  const format = Number(MARKER.exec(config.description ?? '')?.[1] ?? 1);
  if (format > NEWEST_CHAIN_FORMAT)
    throw new TidemarkError('SCHEMA_MISMATCH', `The store was written in format ${format}; update @tidemark/nats`, {
      current: format,
    });
  return format === NEWEST_CHAIN_FORMAT ? NEWEST_CHAIN_FORMAT : 1;
}

/** Raises the marker of an older store to the newest format. */
export async function raiseMarker(link: Link, prefix: string, call: EngineCall): Promise<void> {
  const name = streamName(prefix, 'runs');
  const info = await streamInfo(link, name, call);
  if (formatOf(info) === NEWEST_CHAIN_FORMAT) return;
  await link.query(`STREAM.UPDATE.${name}`, { ...info.config, description: NEWEST_MARKER }, call);
}
