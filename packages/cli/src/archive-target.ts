/** The location of an archive: a directory of this machine, or a bucket. */
import { invalidArgument } from '@tidemark/core';
import { missingPackage } from '@tidemark/core/engine';
import type { ArchiveTarget } from '@tidemark/runtime';
import { openToOthers, privacyFix } from './private-files.ts';

export const ARCHIVE_TARGET = 'directory of the archive, or s3://bucket/prefix';

export async function openArchiveTarget(location: string): Promise<ArchiveTarget> {
  if (location.startsWith('s3:')) return (await loadS3()).s3Target(location);
  const { directoryTarget } = await import('@tidemark/runtime');
  return directoryTarget(location);
}

async function loadS3() {
  try {
    return await import('@tidemark/s3');
  } catch (cause) {
    throw missingPackage(cause, '@tidemark/s3', 's3:');
  }
}

/** Returns the location of an archive from its option, or from `--directory`, the name of the option in version 0.1. */
export function archiveTargetOf(
  flag: '--to' | '--from',
  location: string | undefined,
  directory: string | undefined,
): string {
  if (location !== undefined && directory !== undefined) throw invalidArgument(flag, 'given without --directory');
  const chosen = location ?? directory;
  if (chosen === undefined || chosen === '') throw invalidArgument(flag, 'given');
  return chosen;
}

/** Returns the command that protects a directory from other users of this machine, or `null` if it is protected. */
export function privacyFixOf(location: string): string | null {
  const open = location.startsWith('s3:') ? [] : openToOthers([location]);
  return open.length > 0 ? privacyFix(open) : null;
}
