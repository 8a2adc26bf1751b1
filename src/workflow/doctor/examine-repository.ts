/** Examines everything that crashes and other clones can leave behind, and fixes problems that clearly belong to teddy. */
import { TeddyError } from '../../errors.ts';
import type { Remain } from '../../ports/disk.ts';
import type { RefTip } from '../../ports/git.ts';
import type { LeftOperation } from '../../ports/journal.ts';
import type { Project } from '../../ports/project.ts';
import { listLines } from '../../session/lines/lines.ts';
import { recordDeletedTips } from '../../session/entries/cached-rows.ts';
import { findDamagedObjects, findLostEntries } from './find-lost-entries.ts';
import { findDivergedLines, findMemoPairs } from './find-diverged-lines.ts';
import { findCapture, findEnvironment, findSessionFiles } from './find-environment.ts';
import { findMirrors, findOldLanded, findUnkept } from './find-shared.ts';
import { findRuns, findWorkTrees, findWrites } from './find-unfinished.ts';
import { count, type Examination, type Finding, type Found, type Scene, remainsOf } from './finding.ts';
import { formatCount } from '../../session/text/format-count.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { archivePrefix, deletedPrefix, parseArchiveRef, shortRef, type RefName } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { prepareLine } from '../line/prepare.ts';
import { commandKind, type CommandFacts } from '../line/settle-commands.ts';
import { clearQuarantine, listLeftInQuarantine, quarantinePrefix } from '../line/quarantine.ts';
import { moveRefs } from '../line/move-refs.ts';

export interface ReportedFinding extends Finding {
  /** `left` means that teddy did not try to fix the problem; `failed`, that `--fix` has tried. */
  outcome: 'left' | 'fixed' | 'failed';
  /** The result of `--fix`, or the reason why it failed. */
  said: string | null;
}

export interface Examined {
  findings: ReportedFinding[];
  /** The examined things, each in a few words. */
  seen: string[];
  notes: string[];
  /** The reasons why teddy could not examine something. */
  failures: TeddyError[];
}

/** Finds model answers that killed commands had received. */
const findAnswers: Examination = async (scene) => ({
  found: remainsOf(scene, 'answer').map((remain): Found => {
    const { path, place, bytes, isDamaged } = remain;
    const what = `A command was killed while receiving an answer (${formatCount(bytes)} bytes are on disk)`;
    if (place === null || isDamaged) return toDamaged(path, what);
    const line = shortRef(place.ref);
    const isThere = scene.refs.some(({ ref }) => ref === place.ref);
    const found = { kind: 'staged-answer' as const, thing: path };
    const meaning = `${what} in turn ${place.turn} on ${line}.`;
    if (!isThere) return { ...found, meaning, todo: toGone(line) };
    return {
      ...found,
      meaning,
      fix: 'saves it in its turn, as the next command on that branch would',
      todo: `\`teddy ${place.isQuestion ? 'ask' : 'resume'} -s ${toShellWord(line)}\` saves it and continues.`,
      async repairFinding() {
        await prepareLine(scene.project, place.ref);
        if ((await scene.project.remains.look()).some((one) => one.path === path))
          throw new TeddyError('WRITE_FAILED', 'The answer could not be saved, and is still on disk.');
        return `The answer was saved in turn ${place.turn} of ${line}, or separately if the turn is no longer waiting for it.`;
      },
    };
  }),
  seen: 'staged answers',
});

function toDamaged(thing: string, what: string): Found {
  return {
    kind: 'staged-answer',
    thing,
    meaning: `${what}; part of it, or the record of the turn that it belongs to, is damaged.`,
    todo: `Look at it: \`cat ${toShellWord(thing)}\`. The next command on a session's branch saves its bytes below refs/teddy/keep/answers/.`,
  };
}

function toGone(line: string): string {
  return `${line} is gone. The next command on any session's branch saves the answer below refs/teddy/keep/answers/.`;
}

/** Reports git locks that are not teddy's, and never removes them. */
const findForeignLocks: Examination = async (scene) => ({
  found: remainsOf(scene, 'foreign-lock').map(({ path, ageMs, heldBy }) => ({
    kind: 'foreign-lock',
    thing: path,
    meaning: `Another program has held this lock for ${formatAge(ageMs)}${describe(heldBy)}, and git cannot change what the lock protects.`,
    todo: `Wait for that program. If nothing is running there anymore, run \`rm ${toShellWord(path)}\`.`,
  })),
  seen: 'locks',
});

function describe(heldBy: number[]): string {
  if (heldBy.length === 0) return '';
  return ` (${heldBy.length === 1 ? 'process' : 'processes'} ${heldBy.join(', ')})`;
}

function formatAge(ms: number): string {
  const units: [string, number][] = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
  ];
  const [unit, size] = units.find(([, length]) => ms >= 2 * length) ?? ['s', 1000];
  return `${Math.round(ms / size)} ${unit}`;
}

/** Finds teddy's files that a killed process was writing or removing, and the record of a server that no longer runs. */
const findLeftovers: Examination = async (scene) => {
  const files = remainsOf(scene, 'leftover').map((remain): Found => ({
    kind: 'leftover',
    thing: remain.path,
    meaning: 'A teddy process was killed while writing or removing this; nothing needs it.',
    fix: 'removes it',
    repairFinding: () => clear(scene, remain, 'It was removed.'),
  }));
  const servers = remainsOf(scene, 'server').map((remain): Found => ({
    kind: 'dead-server',
    thing: remain.path,
    meaning: 'A `teddy serve` was killed and left behind the record of its address and token; no program uses it.',
    fix: 'removes the record',
    repairFinding: () => clear(scene, remain, 'The record was removed.'),
  }));
  const strangers = remainsOf(scene, 'stranger').map(
    ({ path }) => `This version of teddy does not recognize ${path}, and leaves it alone.`,
  );
  return { found: [...files, ...servers], seen: 'leftovers', notes: strangers };
};

async function clear({ project }: Scene, remain: Remain, said: string): Promise<string> {
  await project.remains.clear(remain);
  return said;
}

/** Finds lines that a killed command was moving: the ref, the index and the files may not match, and locks may remain. */
const findPublications: Examination = async (scene) => {
  const publications = remainsOf(scene, 'publication').map((remain): Found => {
    const line = shortRef(remain.ref);
    return {
      kind: 'interrupted-publication',
      thing: remain.path,
      meaning: `A command was killed while adding an entry to ${line} in ${remain.root}; it may have left behind its lock, or an index that does not match.`,
      fix: 'finishes it if the entry is on the branch, or else rolls it back, as the next command there would',
      repairFinding: () => clear(scene, remain, `The command in ${remain.root} was finished or rolled back.`),
    };
  });
  const records = remainsOf(scene, 'ref-record').map((remain): Found => {
    const refs = remain.refs.map(shortRef).join(', ');
    return {
      kind: 'stale-ref-lock',
      thing: remain.path,
      meaning: `A command was killed while moving ${refs === '' ? 'a ref' : refs}; it may have left git's lock behind.`,
      fix: 'removes the record, and the lock if it is the recorded one',
      repairFinding: () => clear(scene, remain, 'The record and the lock that it named are gone.'),
    };
  });
  return { found: [...publications, ...records], seen: 'interrupted commands' };
};

/** The parts of a scene that the caller supplies. */
type OutsideScene = Pick<Scene, 'agents' | 'findHooks' | 'findSetup' | 'findSilent'>;

/** Changes nothing without `fix`. Throws the errors of opening the repository. */
export async function examineRepository(
  project: Project,
  {
    fix,
    agents = null,
    findHooks = null,
    findSetup = null,
    findSilent = null,
  }: { fix: boolean } & Partial<OutsideScene>,
): Promise<Examined> {
  const read = async (): Promise<Scene> => ({
    ...(await readScene(project)),
    agents,
    findHooks,
    findSetup,
    findSilent,
  });
  let scene = await read();
  const lines = scene.lines.filter(({ remote }) => remote === null);
  const examined: Examined = { findings: [], seen: [count(lines.length, 'line')], notes: [], failures: [] };
  for (const examine of examinations) {
    const look = await examine(scene).catch((error: unknown) => noteFailure(examined, error));
    if (look === null) continue;
    if (look.seen !== null) examined.seen.push(look.seen);
    examined.notes.push(...(look.notes ?? []));
    for (const found of look.found) examined.findings.push(fix ? await mend(found) : toReported(found));
    if (fix && look.found.length > 0) scene = await read();
  }
  return examined;
}

async function readScene(project: Project): Promise<Omit<Scene, keyof OutsideScene>> {
  const [refs, lines, remains] = await Promise.all([
    project.repository.store.listRefs('refs/heads/teddy/', 'refs/remotes/*/teddy/*', 'refs/teddy/'),
    listLines(withoutNotes(project)).catch(toNone),
    project.remains.look(),
  ]);
  return { project, refs, lines, remains };
}

/** Returns the project with a read-only cache, because an examination changes nothing. */
function withoutNotes(project: Project): Project {
  const { repository } = project;
  const cache = { read: (key: string) => repository.cache.read(key), write: async () => undefined };
  return { ...project, repository: { ...repository, cache } };
}

/** Finds no lines when a branch is damaged, because another examination reports that. */
function toNone(error: unknown): [] {
  if (error instanceof TeddyError && error.code === 'DAMAGED_SESSION') return [];
  throw error;
}

/** Records the failure, so that the other examinations can continue. */
function noteFailure(examined: Examined, error: unknown): null {
  if (!(error instanceof TeddyError) || error.code === 'INTERRUPTED') throw error;
  examined.failures.push(error);
  return null;
}

function toReported({ kind, thing, meaning, fix = null, todo = null }: Found): ReportedFinding {
  return { kind, thing, meaning, fix, todo, outcome: 'left', said: null };
}

async function mend(found: Found): Promise<ReportedFinding> {
  const reported = toReported(found);
  if (found.repairFinding === undefined) return reported;
  try {
    return { ...reported, said: await found.repairFinding(), outcome: 'fixed' };
  } catch (error) {
    if (!(error instanceof TeddyError) || error.code === 'INTERRUPTED') throw error;
    return { ...reported, outcome: 'failed', said: error.message, todo: error.hint ?? reported.todo };
  }
}

/** Finds refs that a killed pull or sync left in quarantine. */
const findQuarantine: Examination = async ({ project, refs }) => {
  if (!refs.some(({ ref }) => ref.startsWith(quarantinePrefix))) return { found: [], seen: null };
  const left = await listLeftInQuarantine(project, refs);
  if (left.length === 0) return { found: [], seen: 'quarantine' };
  return {
    found: [
      {
        kind: 'quarantine',
        thing: quarantinePrefix,
        meaning: `A pull or sync was killed, and ${count(left.length, 'ref')} that it had fetched but not accepted ${left.length === 1 ? 'is' : 'are'} still here.`,
        fix: 'removes them; the next pull fetches them again',
        async repairFinding() {
          await clearQuarantine(project, refs);
          return 'They were removed.';
        },
      },
    ],
    seen: 'quarantine',
  };
};

/** Finds conversation commands that were cut off, because teddy has to undo their changes in `.teddy/`. */
const findCommands: Examination = async ({ project, refs }) => {
  const left = await project.journal.look(commandKind);
  return { found: left.map((one) => toCutOffCommand(project, refs, one)), seen: 'commands in conversations' };
};

function toCutOffCommand(project: Project, refs: Scene['refs'], { path, facts }: LeftOperation<CommandFacts>): Found {
  const found = { kind: 'interrupted-command' as const, thing: path };
  if (facts === null) {
    return {
      ...found,
      meaning:
        'The note about a command that a conversation ran is damaged, so teddy cannot tell what the command changed in .teddy/.',
      todo: `Look at \`git diff HEAD -- .teddy\`, revert what is not yours, then remove the note: \`rm ${toShellWord(path)}\`.`,
    };
  }
  const line = shortRef(facts.ref);
  const meaning = `A conversation was killed while running a command in turn ${facts.turn} on ${line} in ${facts.root}; the command's changes in .teddy/ may still be there.`;
  if (!refs.some(({ ref }) => ref === facts.ref)) {
    return { ...found, meaning, todo: `${line} is gone. Look at ${facts.root}, then run \`rm ${toShellWord(path)}\`.` };
  }
  return {
    ...found,
    meaning,
    fix: 'restores .teddy/, as the next command on that line would',
    async repairFinding() {
      await prepareLine(project, facts.ref);
      return 'The files in .teddy/ were restored to their state before the command.';
    },
  };
}

/** How long teddy keeps deleted sessions. */
const keptMs = 30 * 86_400_000;

/** Finds the expired refs that `teddy delete` kept; only `--fix` removes them. */
const findDeleted: Examination = async ({ project, refs }) => {
  const kept = refs.filter(({ ref }) => ref.startsWith(deletedPrefix));
  if (kept.length === 0) return { found: [], seen: null };
  const now = project.clock.now().getTime();
  const isOld = ({ ref }: RefTip) => now - parseStamp(ref) > keptMs;
  const old = kept.filter(isOld);
  const names = (tips: RefTip[]) => nameSome([...new Set(tips.map(({ ref }) => ref.split('/').at(-1) ?? ''))]);
  const recent = kept.filter((tip) => !isOld(tip));
  return {
    found: old.length === 0 ? [] : [toExpired(project, old, names(old))],
    seen: 'deleted sessions',
    notes:
      recent.length === 0
        ? []
        : [`Deleted sessions are kept for 30 days: ${names(recent)}. Restore one: teddy delete --restore <session>`],
  };
};

/** Returns infinity for a ref without a time in its name, so that teddy keeps it. */
function parseStamp(ref: RefName): number {
  const stamp = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\//.exec(ref.slice(deletedPrefix.length));
  if (stamp === null) return Number.POSITIVE_INFINITY;
  const [, year, month, day, hour, minute, second] = stamp;
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

function toExpired(project: Project, old: RefTip[], names: string): Found {
  return {
    kind: 'deleted-session',
    thing: deletedPrefix,
    meaning: `${count(old.length, 'branch', 'branches')} of sessions that were deleted more than 30 days ago can be removed: ${names}.`,
    fix: 'removes them permanently',
    async repairFinding() {
      const updates = old.map(({ ref, oid }) => ({ ref, old: oid, new: null }));
      await recordDeletedTips(
        project.repository.cache,
        old.map(({ oid }) => oid),
      );
      const isDone = await moveRefs(project, updates, 'no longer kept');
      return isDone ? 'They were removed.' : 'Another process moved them in the meantime, so they were kept.';
    },
  };
}

/** Finds archive refs that none of teddy's commands reads. git does not allow a ref below another one. */
const findMisplacedArchives: Examination = async ({ refs }) => {
  const archives = refs.filter(({ ref }) => ref.startsWith(archivePrefix));
  const found = archives.filter(({ ref }) => parseArchiveRef(ref) === null).map(toMisplaced);
  return { found, seen: archives.length === 0 ? null : count(archives.length, 'archive') };
};

function toMisplaced({ ref, oid }: RefTip): Found {
  const isMonth = /^refs\/teddy\/archive\/\d{4}-\d{2}$/.test(ref);
  const meaning = isMonth
    ? `The ref ${ref} is in the way: no session from that month can be archived.`
    : `teddy neither reads nor pushes ${ref}: an archive must be named after its branch, below the month of its session.`;
  const todo = `Give its commits a branch: \`git branch <name> ${oid.slice(0, 12)}\`, then run \`git update-ref -d ${ref} ${oid}\`.`;
  return { kind: isMonth ? 'branch-in-the-way' : 'misplaced-archive', thing: ref, meaning, todo };
}

/** The order matters: teddy first fixes problems that block the others. */
const examinations: Examination[] = [
  findForeignLocks,
  findPublications,
  findLeftovers,
  findEnvironment,
  async ({ findHooks }) => (await findHooks?.()) ?? { found: [], seen: null },
  async ({ findSetup }) => (await findSetup?.()) ?? { found: [], seen: null },
  findCapture,
  findCommands,
  findRuns,
  findAnswers,
  findWrites,
  findMemoPairs,
  findQuarantine,
  findDeleted,
  findMirrors,
  findUnkept,
  findOldLanded,
  findMisplacedArchives,
  findDivergedLines,
  findDamagedObjects,
  findLostEntries,
  findSessionFiles,
  findWorkTrees,
];
