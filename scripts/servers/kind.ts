/**
 * Describes how to find or install a program, and how to start, recognise and stop a kind of server. Adding a server
 * means adding a file with one of these.
 */

/** The settings of one server that we start. */
export interface Installation {
  /** Absolute path of the server's program. */
  program: string;
  /** A temporary directory for this server, removed when it stops. */
  directory: string;
  /** Free ports on 127.0.0.1, as many as the container has. The first one is for the protocol. */
  ports: number[];
  /** The user it runs as, if different from the current one. */
  user: { uid: number; gid: number } | undefined;
}

/** A program that tests need. */
export interface ProgramKind {
  title: string;
  /** The program to find on the PATH, and in the directories that match these patterns; the highest version wins. */
  program: string;
  elsewhere: string[];
  /** Set if only a program found elsewhere is acceptable, because the one on the PATH may have another version. */
  notFromPath?: boolean;
  /** The Debian packages of the program. A kind without one comes with `npm ci`. */
  aptPackage?: string | readonly string[];
}

export interface ServerKind extends ProgramKind {
  /** As in `TIDEMARK_TEST_BACKENDS` and, in capitals, in `TIDEMARK_TEST_…_URL`. */
  name: string;
  /** How Docker runs it if the program is not available. Without an image, Docker is not used. */
  container: { image?: string; ports: number[]; args: string[]; environment: Record<string, string> };
  /** Set for a server that refuses to run as root. */
  refusesRoot: boolean;
  stopSignal: 'SIGTERM' | 'SIGINT';
  /** Prepares the empty directory before the first start. May return another program to start. */
  prepare?(installation: Installation): Promise<string | undefined>;
  serverArgs(installation: Installation): string[];
  url(port: number): string;
  /** Connects with the server's protocol and returns its version. Rejects until the server is ready. */
  probe(url: URL): Promise<string>;
}
