/** The port of a byte store: keeps the bytes of artifacts outside an engine, in objects that are written once. */
import type { DoctorFinding } from '../contracts/store.ts';
import type { EngineCall } from './call.ts';

/** The headers of a download. */
export interface DownloadHeaders {
  filename: string | null;
  mimeType: string | null;
}

export interface ByteStore {
  /** Where the objects are, for messages and findings, such as `s3://bucket/prefix`. */
  readonly location: string;
  /**
   * Stores a new object completely or not at all. Durable once it resolves. Fails with `OUTCOME_UNKNOWN` if the object
   * may exist, and with the source's own error, unchanged, if the source fails.
   */
  put(name: string, chunks: AsyncIterable<Uint8Array>, call: EngineCall): Promise<void>;
  /** Yields the bytes from `start`, inclusive, to `end`, exclusive. Returns `null` if there is no such object. */
  get(name: string, start: number, end: number, call: EngineCall): Promise<AsyncIterable<Uint8Array> | null>;
  /** Removes an object and everything that an interrupted upload left of it. Does nothing if there is none. */
  remove(name: string, call: EngineCall): Promise<void>;
  /** Returns a URL that serves the object to anyone until it expires. Absent if the store has no such URLs. */
  downloadUrl?(name: string, headers: DownloadHeaders, expiresInMs: number): Promise<string>;
  /** Checks that the store can be reached and used. */
  examine(call: EngineCall): Promise<DoctorFinding[]>;
  close(): Promise<void>;
}
