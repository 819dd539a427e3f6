/**
 * TLS from files that may be replaced while the server runs. New files are used for new connections once the
 * certificate and the key match. Until then, the previous pair stays in use.
 */
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type Server } from 'node:tls';
import { invalidArgument } from '@tidemark/core';
import type { Logger } from './logger.ts';

/**
 * How often the files are checked. Reading them costs little because they are small, and replaced symbolic links (as in
 * Kubernetes) cannot be detected otherwise.
 */
const LOOK_MS = 1_000;
const BEGIN = /-----BEGIN CERTIFICATE-----/g;
const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The names of PEM files. */
export interface ServerTls {
  /** The certificate, followed by any intermediate certificates. */
  cert: string;
  key: string;
  /**
   * Certificate authorities of clients. Only clients with a certificate of one of these authorities can connect. They
   * still need a key or token.
   */
  clientCa?: string;
}

interface Contents {
  cert: string;
  key: string;
  ca?: string;
  minVersion: 'TLSv1.2';
}

export class TlsFiles {
  readonly #files: ServerTls;
  readonly #logger: Logger;
  /** The initial options for `https.createServer`. */
  readonly contents: Contents;
  /** Hash of the files in use. */
  #inUse: string;
  /** The hash of files that are unusable and have been logged as such. */
  #unfit: string | undefined;
  #server: Server | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Throws if the files cannot be read or do not match. */
  constructor(files: ServerTls, logger: Logger) {
    this.#files = files;
    this.#logger = logger;
    this.contents = read(files);
    check(this.contents);
    this.#inUse = hashOf(this.contents);
  }

  /** Uses new files for new connections of this server, until `stop`. */
  follow(server: Server): void {
    this.#server = server;
    this.#timer = setInterval(() => this.reload(), LOOK_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Checks the files immediately. Returns whether new files are in use. Unusable files are logged once. */
  reload(): boolean {
    let state = 'unreadable';
    try {
      const contents = read(this.#files);
      state = hashOf(contents);
      if (state !== this.#inUse) return this.#use(contents, state);
      this.#unfit = undefined;
    } catch (error) {
      if (state !== this.#unfit) this.#logger.error({ event: 'tls_reload_failed', kept: 'the files before', error });
      this.#unfit = state;
    }
    return false;
  }

  #use(contents: Contents, state: string): true {
    check(contents);
    this.#server?.setSecureContext(contents);
    this.#inUse = state;
    this.#unfit = undefined;
    this.#logger.info({ event: 'tls_reloaded', validTo: new X509Certificate(contents.cert).validTo });
    return true;
  }
}

/** Reads the files at startup. Throws rather than start without TLS or with incomplete files. */
export function openTls(files: ServerTls, logger: Logger): TlsFiles {
  try {
    return new TlsFiles(files, logger);
  } catch (error) {
    throw invalidArgument('tls', `files with a certificate and its key in PEM (${(error as Error).message})`);
  }
}

function read({ cert, key, clientCa }: ServerTls): Contents {
  const [certText, keyText] = [readFileSync(cert, 'utf8'), readFileSync(key, 'utf8')];
  const authority = clientCa === undefined ? {} : { ca: readFileSync(clientCa, 'utf8') };
  return { cert: certText, key: keyText, ...authority, minVersion: 'TLSv1.2' };
}

/**
 * Throws unless the files match. They may be read while they are being replaced one after the other, in which case the
 * mismatch disappears a second later.
 */
function check(contents: Contents): void {
  const { cert, key, ca } = contents;
  for (const text of ca === undefined ? [cert] : [cert, ca]) checkChain(text);
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
    throw new Error('the key is not that of the certificate');
  createSecureContext(contents);
}

function checkChain(text: string): void {
  const blocks = text.match(BLOCK) ?? [];
  if (blocks.length === 0 || blocks.length !== text.match(BEGIN)?.length)
    throw new Error('a file of certificates is empty or cut short');
  for (const block of blocks) new X509Certificate(block);
}

/** Returns the hash that is stored instead of the key itself. */
function hashOf(contents: Contents): string {
  return createHash('sha256').update(JSON.stringify(contents)).digest('hex');
}
