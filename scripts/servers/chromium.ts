/** Chromium, the browser that the inspector's tests drive. */
import type { ProgramKind } from './kind.ts';

export const chromium: ProgramKind = {
  title: 'Chromium',
  program: 'chromium',
  elsewhere: ['/usr/lib/chromium', '/snap/bin'],
  aptPackage: 'chromium',
};
