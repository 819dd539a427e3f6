export { type CopyOptions, copyStore } from './copy-store.ts';
export type { CopyCounts, CopyReport } from './report.ts';
export type { CopyPoint } from './unit.ts';
