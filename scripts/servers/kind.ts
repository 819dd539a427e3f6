/**
 * What our code must know of a program to find or install it, and of a kind of server to start, recognise and stop it too.
 * A new server is one file with one of these.
 */

/** Where one server of ours lives. */
export interface Place {
  /** Absolute path of the server's program. */
  program: string;
  /** A temporary directory of its own, removed when it stops. */
  directory: string;
  /** As many free ports on 127.0.0.1 as the container has; the first one speaks the protocol. */
  ports: number[];
  /** The user it runs as, if that is not ours. */
  user: { uid: number; gid: number } | undefined;
}

/** A program that tests need. */
export interface ProgramKind {
  title: string;
  /** The program to look for on the PATH, and in the directories that match these patterns; the highest version wins. */
  program: string;
  elsewhere: string[];
  /** Set where only a program found elsewhere will do, because the one on the PATH may be of another version. */
  notFromPath?: boolean;
  /** The Debian package that brings the program; for a kind without one, `npm ci` does. */
  aptPackage?: string;
}

export interface ServerKind extends ProgramKind {
  /** As in `TIDEMARK_TEST_BACKENDS` and, in capitals, in `TIDEMARK_TEST_…_URL`. */
  name: string;
  /** How Docker runs it where the program cannot be had; without an image, it does not. */
  container: { image?: string; ports: number[]; args: string[]; environment: Record<string, string> };
  /** Set for a server that refuses to run as root. */
  refusesRoot: boolean;
  stopSignal: 'SIGTERM' | 'SIGINT';
  /** What has to happen in the empty directory before the first start; may return another program to start. */
  prepare?(place: Place): Promise<string | undefined>;
  serverArgs(place: Place): string[];
  url(port: number): string;
  /** Speaks the server's protocol and returns its version; rejects until the server is ready to work. */
  probe(url: URL): Promise<string>;
}
