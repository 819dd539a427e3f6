/** Finds everything about a file, its settings and its disk that weakens durability, with the fix (GEN-6). */
import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DoctorFinding, Durability } from '@tidemark/core';
import type { Connection } from './connection.ts';
import { allowsSeveralProcesses } from './files.ts';

const FEW_BYTES_FREE = 1024 ** 3;
const LARGE_WAL_BYTES = 64 * 1024 ** 2;

/** File systems by magic number. Others are assumed to be a local disk. */
const FILE_SYSTEMS: Record<number, { name: string; keeps: 'memory' | 'network' | 'layer' }> = {
  16914836: { name: 'tmpfs', keeps: 'memory' },
  2240043254: { name: 'ramfs', keeps: 'memory' },
  26985: { name: 'nfs', keeps: 'network' },
  4266872130: { name: 'smb2', keeps: 'network' },
  4283649346: { name: 'cifs', keeps: 'network' },
  1702057286: { name: 'fuse', keeps: 'network' },
  16914839: { name: '9p', keeps: 'network' },
  2035054128: { name: 'overlay', keeps: 'layer' },
};

/** Returns what an acknowledged write survives: a power failure, unless settings or file system weaken that. */
export function durabilityOf(path: string, connection: Connection): Durability {
  const safe = pragma(connection, 'journal_mode') === 'wal' && Number(pragma(connection, 'synchronous')) >= 2;
  const { keeps } = fileSystemOf(path);
  if (keeps === 'network') return 'unknown';
  return safe && keeps !== 'memory' ? 'host-crash' : 'process-crash';
}

export function examine(path: string, connection: Connection): DoctorFinding[] {
  const checks: [string, () => DoctorFinding][] = [
    ['journal mode', () => journalMode(connection)],
    ['synchronous', () => synchronous(connection)],
    ['SQLite version', () => sqliteVersion(connection)],
    ['file system', () => fileSystem(path)],
    ['free space', () => freeSpace(path)],
    ['WAL size', () => walSize(path)],
    ['preloaded libraries', () => preloads()],
    ['permissions', () => permissions(path)],
    ['append-only', () => appendOnly(connection)],
    ['quick_check', () => quickCheck(connection)],
  ];
  return checks.map(([check, look]) => {
    try {
      return look();
    } catch (error) {
      return { check, status: 'fail', message: (error as Error).message, fix: 'Restore the file from a backup' };
    }
  });
}

function journalMode(connection: Connection): DoctorFinding {
  const mode = String(pragma(connection, 'journal_mode'));
  const check = 'journal mode';
  if (mode === 'wal') return { check, status: 'ok', message: 'WAL' };
  return {
    check,
    status: 'fail',
    message: `The journal mode is ${mode}, not WAL`,
    fix: 'Close every other program that has the file open, then open the store again',
  };
}

function synchronous(connection: Connection): DoctorFinding {
  const level = Number(pragma(connection, 'synchronous'));
  const check = 'synchronous';
  if (level >= 2)
    return {
      check,
      status: 'ok',
      message: level === 2 ? 'FULL: every commit is synced' : 'EXTRA: every commit is synced',
    };
  return {
    check,
    status: 'fail',
    message: `synchronous is ${level === 1 ? 'NORMAL' : 'OFF'}: a power cut loses acknowledged writes`,
    fix: 'PRAGMA synchronous = FULL on the writing connection',
  };
}

function sqliteVersion(connection: Connection): DoctorFinding {
  const { version } = connection.get<{ version: string }>('SELECT sqlite_version() AS version')!;
  const check = 'SQLite version';
  if (allowsSeveralProcesses(version)) return { check, status: 'ok', message: version };
  return {
    check,
    status: 'warn',
    message: `${version} can damage a file that two processes write, so only one process may open it`,
    fix: 'Use Node 22.23, 24.21 or newer, which bring SQLite 3.51.3 or newer',
  };
}

function fileSystem(path: string): DoctorFinding {
  const { name, keeps } = fileSystemOf(path);
  const check = 'file system';
  switch (keeps) {
    case 'memory':
      return {
        check,
        status: 'fail',
        message: `${name} is memory: everything is lost when the machine stops`,
        fix: 'Put the file on a disk',
      };
    case 'network':
      return {
        check,
        status: 'fail',
        message: `${name} is a network or user-space file system, whose locks and syncs SQLite cannot rely on`,
        fix: 'Put the file on a local disk',
      };
    case 'layer':
      return {
        check,
        status: 'warn',
        message: `${name}: the file lives in a container layer and goes with the container`,
        fix: 'Mount a volume for the file',
      };
    default:
      return { check, status: 'ok', message: 'a local disk' };
  }
}

function freeSpace(path: string): DoctorFinding {
  const { bavail, bsize } = statfsSync(dirname(path));
  const free = bavail * bsize;
  const message = `${Math.round(free / 1024 ** 2)} MiB free`;
  if (free >= FEW_BYTES_FREE) return { check: 'free space', status: 'ok', message };
  return { check: 'free space', status: 'warn', message, fix: 'Free some space: on a full disk every write fails' };
}

function walSize(path: string): DoctorFinding {
  const size = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const message = `${Math.round(size / 1024)} KiB`;
  if (size <= LARGE_WAL_BYTES) return { check: 'WAL size', status: 'ok', message };
  return {
    check: 'WAL size',
    status: 'warn',
    message,
    fix: 'A long-running reader prevents the WAL from being emptied; find it and close it',
  };
}

/** Finds files that other users can open, because an older version created them or their permissions were changed. */
function permissions(path: string): DoctorFinding {
  const check = 'permissions';
  const files = ['', '-wal', '-shm', '-artifacts'].map((suffix) => path + suffix);
  const open = files.filter((file) => ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0);
  if (process.platform === 'win32' || open.length === 0)
    return { check, status: 'ok', message: 'only their owner can read the files' };
  return {
    check,
    status: 'warn',
    message: `others on this machine may read or write ${open.join(', ')}`,
    fix: `chmod go= ${open.map((file) => `'${file.replaceAll("'", `'\\''`)}'`).join(' ')}`,
  };
}

/** Finds preloaded libraries that fake syncs or clocks. */
function preloads(): DoctorFinding {
  const preloaded = process.env.LD_PRELOAD ?? '';
  const liar = /eatmydata|faketime/.exec(preloaded)?.[0];
  if (!liar) return { check: 'preloaded libraries', status: 'ok', message: 'none that hides syncs or changes time' };
  return {
    check: 'preloaded libraries',
    status: 'fail',
    message: `${liar} is preloaded`,
    fix: 'Start the process without LD_PRELOAD',
  };
}

/** The triggers that prevent other programs from changing events. */
const GUARDS = [
  'run_events_never_change',
  'run_events_never_replaced',
  'run_events_guard_meets_replace',
  'run_events_go_with_their_run',
  'run_events_count_redactions',
];

function appendOnly(connection: Connection): DoctorFinding {
  const check = 'append-only';
  const triggers = connection.all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'trigger'");
  const missing = GUARDS.filter((guard) => !triggers.some(({ name }) => name === guard));
  if (missing.length === 0) return { check, status: 'ok', message: 'triggers keep events from being changed' };
  return {
    check,
    status: 'fail',
    message: `Somebody dropped ${missing.join(', ')}: other programs can change events in the file`,
    fix: 'Verify every run, then create the triggers again as in the migrations of @tidemark/sqlite',
  };
}

function quickCheck(connection: Connection): DoctorFinding {
  const result = String(pragma(connection, 'quick_check(1)'));
  if (result === 'ok') return { check: 'quick_check', status: 'ok', message: 'the file is well-formed' };
  return { check: 'quick_check', status: 'fail', message: result, fix: 'Restore the file from a backup' };
}

function fileSystemOf(path: string): { name: string; keeps: 'memory' | 'network' | 'layer' | 'disk' } {
  return FILE_SYSTEMS[statfsSync(dirname(path)).type] ?? { name: 'disk', keeps: 'disk' };
}

function pragma(connection: Connection, name: string): unknown {
  return Object.values(connection.get<object>(`PRAGMA ${name}`) ?? {})[0];
}
