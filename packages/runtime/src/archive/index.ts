export * from './archiver.ts';
export { directoryTarget } from './directory.ts';
export type { RunRef } from './pack.ts';
export type { ArchivePoint } from './packing.ts';
export { withArchive } from './read-through.ts';
export type { ArchiveCheck, ArchiveReport, SparedRun } from './report.ts';
export type { ArchiveTarget } from './target.ts';
