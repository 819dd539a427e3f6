/**
 * Keeps a server from outliving the process that started it. A small shell reads a pipe that this process holds open.
 * However this process ends, even by SIGKILL, the pipe closes, and the shell stops the server and removes its
 * directory.
 */

import { spawn } from 'node:child_process';

const WATCH = `
  alive() { kill -s 0 "$pid" && ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status"; }
  pid=
  while read -r line; do pid=$line; done
  [ -d "$1" ] || exit 0
  if [ -n "$pid" ] && kill -s "$2" "$pid"; then
    tries=100
    while [ $tries -gt 0 ] && alive; do sleep 0.1; tries=$((tries - 1)); done
    kill -s KILL "$pid"
  fi
  rm -rf "$1"
`;

export interface Guard {
  /** Sets the process to stop, replacing an earlier one. */
  watch(pid: number): void;
  /** Ends the guard. It acts only if the directory still exists. */
  release(): void;
}

export function guardDirectory(directory: string, stopSignal: string): Guard {
  // A separate session, so that Ctrl-C in the terminal ends this process and not the guard.
  const shell = spawn('sh', ['-c', WATCH, 'tidemark-guard', directory, stopSignal.replace('SIG', '')], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.unref();
  shell.stdin.on('error', () => {});
  return {
    watch: (pid) => void shell.stdin.write(`${pid}\n`),
    release: () => void shell.stdin.end(),
  };
}
