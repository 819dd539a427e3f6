/** The id search of each domain. To support a new kind of id, add an entry here. */
import { findPauses, findSessions } from '../agents/find.ts';
import { findArtifacts } from '../artifacts/find.ts';
import { findRecords } from '../kv/find.ts';
import { findRuns } from '../runs/find.ts';
import type { Finder } from './finding.ts';

export const FINDERS: readonly Finder[] = [findRuns, findSessions, findRecords, findPauses, findArtifacts];
