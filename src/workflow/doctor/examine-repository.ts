/** Looks at everything that crashes and other clones can leave behind, and mends what is surely ours. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports.ts';
import { listLines } from '../line/list-lines.ts';
import { findAnswers } from './find-answers.ts';
import { findCommands } from './find-commands.ts';
import { findDamagedObjects } from './find-damaged-objects.ts';
import { findDivergedLines } from './find-diverged-lines.ts';
import { findEnvironment } from './find-environment.ts';
import { findForeignLocks } from './find-foreign-locks.ts';
import { findLeftovers } from './find-leftovers.ts';
import { findLostEntries } from './find-lost-entries.ts';
import { findMemoPairs } from './find-memo-pairs.ts';
import { findPublications } from './find-publications.ts';
import { findQuarantine } from './find-quarantine.ts';
import { findRuns } from './find-runs.ts';
import { findSessionFiles } from './find-session-files.ts';
import { findWorkTrees } from './find-work-trees.ts';
import { findWrites } from './find-writes.ts';
import { count, type Examination, type Finding, type Found, type Scene } from './finding.ts';

export interface ReportedFinding extends Finding {
  /** `left`: nothing was done about it. `failed`: `--fix` has tried. */
  outcome: 'left' | 'mended' | 'failed';
  /** What `--fix` did, or why it could not. */
  said: string | null;
}

export interface Examined {
  findings: ReportedFinding[];
  /** What was looked at, each in a few words. */
  seen: string[];
  notes: string[];
  /** What could not be looked at, and why. */
  failures: TeddyError[];
}

/** In this order: what stands in the way of the others is mended first. */
const examinations: Examination[] = [
  findForeignLocks,
  findPublications,
  findLeftovers,
  findEnvironment,
  findCommands,
  findRuns,
  findAnswers,
  findWrites,
  findMemoPairs,
  findQuarantine,
  findDivergedLines,
  findDamagedObjects,
  findLostEntries,
  findSessionFiles,
  findWorkTrees,
];

/** Without `fix` nothing changes. Throws what the first look at the repository throws. */
export async function examineRepository(project: Project, { fix }: { fix: boolean }): Promise<Examined> {
  let scene = await readScene(project);
  const lines = scene.lines.filter(({ remote }) => remote === null);
  const examined: Examined = { findings: [], seen: [count(lines.length, 'line')], notes: [], failures: [] };
  for (const examine of examinations) {
    const look = await examine(scene).catch((error: unknown) => noteFailure(examined, error));
    if (look === null) continue;
    if (look.seen !== null) examined.seen.push(look.seen);
    examined.notes.push(...(look.notes ?? []));
    for (const found of look.found) examined.findings.push(fix ? await mend(found) : toReported(found));
    if (fix && look.found.length > 0) scene = await readScene(project);
  }
  return examined;
}

async function readScene(project: Project): Promise<Scene> {
  const [refs, lines, remains] = await Promise.all([
    project.repository.store.listRefs('refs/heads/teddy/', 'refs/remotes/*/teddy/*', 'refs/teddy/'),
    listLines(withoutNotes(project)).catch(toNone),
    project.remains.look(),
  ]);
  return { project, refs, lines, remains };
}

/** A look changes nothing, not even what is only there to be faster the next time. */
function withoutNotes(project: Project): Project {
  const { repository } = project;
  const cache = { read: (key: string) => repository.cache.read(key), write: async () => undefined };
  return { ...project, repository: { ...repository, cache } };
}

/** What is damaged below a branch is found and named by an examination of its own. */
function toNone(error: unknown): [] {
  if (error instanceof TeddyError && error.code === 'DAMAGED_SESSION') return [];
  throw error;
}

/** The other examinations go on. */
function noteFailure(examined: Examined, error: unknown): null {
  if (!(error instanceof TeddyError) || error.code === 'INTERRUPTED') throw error;
  examined.failures.push(error);
  return null;
}

function toReported({ kind, thing, meaning, fix, todo }: Found): ReportedFinding {
  return { kind, thing, meaning, fix, todo, outcome: 'left', said: null };
}

async function mend(found: Found): Promise<ReportedFinding> {
  const reported = toReported(found);
  if (found.mend === null) return reported;
  try {
    return { ...reported, said: await found.mend(), outcome: 'mended' };
  } catch (error) {
    if (!(error instanceof TeddyError) || error.code === 'INTERRUPTED') throw error;
    return { ...reported, outcome: 'failed', said: error.message, todo: error.hint ?? found.todo };
  }
}
