/**
 * Judges many mutants in one process per stage, where `switching-runner.ts` turns them on one at a time. Replaces the
 * process when a mutant loops, waits forever or leaves the tests unable to pass.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { appendNote, type Note, NoteReader } from './notes.ts';
import { startTests, type TestProcess } from './processes.ts';
import type { Sandbox } from './sandbox.ts';
import { argumentsOf, environmentOf, type Stage } from './stages.ts';
import type { Switched } from './switches.ts';

/** How a test noticed a mutant. */
export interface Kill {
  id: number;
  test: string;
  error: string;
}

export interface Judgement {
  killed: Kill[];
  /** Mutants that some test evaluates. */
  reached: Set<number>;
  /** Mutants that were evaluated while files were loaded, where no switch was on. */
  loaded: Set<number>;
  /** Tests that cannot judge, because they fail without a mutant or when they are repeated. */
  excluded: string[];
}

/** Loading all files takes long on a busy machine. */
const LOADING_MS = 600_000;
const LOOK_EVERY_MS = 200;

/** Runs a stage on these mutants, which the files of the sandbox contain. */
export async function judgeSwitched(
  { root }: Sandbox,
  stage: Stage,
  mutants: readonly Switched[],
  onKill: (kill: Kill) => void,
): Promise<Judgement> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-notes-'));
  const path = join(folder, 'notes.jsonl');
  const judgement: Judgement = { killed: [], reached: new Set(), loaded: new Set(), excluded: [] };
  const reader = new NoteReader(path);
  const learn = (note: Note) => {
    if (note.kind === 'reached') for (const id of note.ids) judgement.reached.add(id);
    if (note.kind === 'loaded') for (const id of note.ids) judgement.loaded.add(id);
    if (note.kind === 'excluded') judgement.excluded.push(`${note.test}: ${note.error}`);
    if (note.kind !== 'killed') return;
    judgement.killed.push(note);
    onKill(note);
  };
  const open = mutants.map(({ id }) => id).join();
  const env = { ...environmentOf(stage), TIDEMARK_MUTANT_NOTES: path, TIDEMARK_MUTANTS_OPEN: open };
  try {
    // Each further process starts after a note about a suspect or an excluded test, so this loop ends.
    for (;;) {
      const tests = startTests(root, argumentsOf(stage), env);
      const last = await watch(tests, reader, learn);
      if ((await tests.ended) === 0) return judgement;
      if (last?.kind === 'suspect') continue;
      if (last?.kind !== 'try') throw new Error(`The tests of the stage "${stage.name}" cannot be run.`);
      const { id, test } = last;
      if (id === null) appendNote(path, { kind: 'excluded', test, error: 'never ends' });
      else appendNote(path, { kind: 'suspect', id, test, hung: true });
      for (const note of reader.next()) learn(note);
    }
  } finally {
    reader.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the last note of a process that ended, or had to be ended; `null` if it ended without one. */
async function watch(tests: TestProcess, reader: NoteReader, learn: (note: Note) => void): Promise<Note | null> {
  let last: Note | null = null;
  let since = performance.now();
  let isOver = false;
  const ended = tests.ended.then(() => {
    isOver = true;
  });
  for (;;) {
    const wasOver = isOver;
    for (const note of reader.next()) {
      learn(note);
      last = note;
      since = performance.now();
    }
    if (wasOver) return last;
    const limitMs = last?.kind === 'try' ? last.limitMs : LOADING_MS;
    if (last?.kind === 'suspect' || performance.now() - since > limitMs) {
      tests.kill();
      await ended;
      return last;
    }
    await Promise.race([ended, sleep(LOOK_EVERY_MS)]);
  }
}
