/** Examines everything that crashes and other clones can leave behind, and fixes what clearly belongs to teddy. */
import { TeddyError } from '../../errors.ts';
import type { Remain } from '../../ports/disk.ts';
import type { RefTip } from '../../ports/git.ts';
import type { LeftOperation } from '../../ports/journal.ts';
import type { Project } from '../../ports/project.ts';
import { listLines } from '../../session/lines/lines.ts';
import { addForgotten } from '../../session/entries/cached-rows.ts';
import { findDamagedObjects, findLostEntries } from './find-lost-entries.ts';
import { findDivergedLines, findMemoPairs } from './find-diverged-lines.ts';
import { findCapture, findEnvironment, findSessionFiles } from './find-environment.ts';
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
  /** `left` means that nothing was done about it; `failed`, that `--fix` has tried. */
  outcome: 'left' | 'mended' | 'failed';
  /** The result of `--fix`, or the reason why it failed. */
  said: string | null;
}

export interface Examined {
  findings: ReportedFinding[];
  /** The things that were examined, each in a few words. */
  seen: string[];
  notes: string[];
  /** The reasons why something could not be examined. */
  failures: TeddyError[];
}

/** Finds answers of models that killed commands had received. */
const findAnswers: Examination = async (scene) => ({
  found: remainsOf(scene, 'answer').map((remain): Found => {
    const { path, place, bytes, isDamaged } = remain;
    const what = `A command was killed while an answer arrived (${formatCount(bytes)} bytes are on disk)`;
    if (place === null || isDamaged) return toDamaged(path, what);
    const line = shortRef(place.ref);
    const isThere = scene.refs.some(({ ref }) => ref === place.ref);
    const found = { kind: 'staged-answer' as const, thing: path };
    const meaning = `${what}; it is of turn ${place.turn} on ${line}.`;
    if (!isThere) return { ...found, meaning, todo: toGone(line) };
    return {
      ...found,
      meaning,
      fix: 'keeps it in its turn, as the next command on that line does',
      todo: `\`teddy session ${place.isQuestion ? 'ask' : 'resume'} -s ${toShellWord(line)}\` keeps it and goes on.`,
      async mend() {
        await prepareLine(scene.project, place.ref);
        if ((await scene.project.remains.look()).some((one) => one.path === path))
          throw new TeddyError('WRITE_FAILED', 'It could not be taken up, and is still there.');
        return `It is kept in turn ${place.turn} of ${line}, or aside where that has gone on.`;
      },
    };
  }),
  seen: 'staged answers',
});

function toDamaged(thing: string, what: string): Found {
  return {
    kind: 'staged-answer',
    thing,
    meaning: `${what}; what says where it belongs, or part of the answer, is damaged.`,
    todo: `Look at it: \`cat ${toShellWord(thing)}\`. The next command on a line keeps its bytes below refs/teddy/keep/answers/.`,
  };
}

function toGone(line: string): string {
  return `${line} is gone: the next command on any line keeps the answer below refs/teddy/keep/answers/.`;
}

/** Reports git locks that are not teddy's, and never removes them. */
const findForeignLocks: Examination = async (scene) => ({
  found: remainsOf(scene, 'foreign-lock').map(({ path, ageMs, heldBy }) => ({
    kind: 'foreign-lock',
    thing: path,
    meaning: `Another program has locked this for ${formatAge(ageMs)}${describe(heldBy)}, and git refuses to change what it guards.`,
    todo: `Wait for it; if nothing is at work there any more: \`rm ${toShellWord(path)}\`.`,
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

/** Files of ours that a killed process was writing or removing, and the record of a server that is gone. */
const findLeftovers: Examination = async (scene) => {
  const files = remainsOf(scene, 'leftover').map((remain): Found => ({
    kind: 'leftover',
    thing: remain.path,
    meaning: 'A process of teddy that is dead was writing or removing this; nothing needs it.',
    fix: 'removes it',
    mend: () => clear(scene, remain, 'It is removed.'),
  }));
  const servers = remainsOf(scene, 'server').map((remain): Found => ({
    kind: 'dead-server',
    thing: remain.path,
    meaning: 'A `teddy serve` was killed, and its address and token are still on record; no program uses them.',
    fix: 'removes the record',
    mend: () => clear(scene, remain, 'The record is removed.'),
  }));
  const strangers = remainsOf(scene, 'stranger').map(
    ({ path }) => `${path} is none of the files of this teddy; it is left alone.`,
  );
  return { found: [...files, ...servers], seen: 'leftovers', notes: strangers };
};

async function clear({ project }: Scene, remain: Remain, said: string): Promise<string> {
  await project.remains.clear(remain);
  return said;
}

/** Lines that a killed command was moving: the ref, the index and the files may not fit, and locks may be left. */
const findPublications: Examination = async (scene) => {
  const publications = remainsOf(scene, 'publication').map((remain): Found => {
    const line = shortRef(remain.ref);
    return {
      kind: 'interrupted-publication',
      thing: remain.path,
      meaning: `A command was killed while it added an entry to ${line} in ${remain.root}; its lock, or an index that does not fit, may be left.`,
      fix: 'finishes it if the entry is on the line, else takes it back, as the next command there does',
      mend: () => clear(scene, remain, `What was left in ${remain.root} is finished or taken back.`),
    };
  });
  const records = remainsOf(scene, 'ref-record').map((remain): Found => {
    const refs = remain.refs.map(shortRef).join(', ');
    return {
      kind: 'stale-ref-lock',
      thing: remain.path,
      meaning: `A command was killed while it moved ${refs === '' ? 'a ref' : refs}; git's lock of it may be left.`,
      fix: 'removes the lock if it is the one that the record tells of, and the record',
      mend: () => clear(scene, remain, 'The record is gone, and with it the lock that it told of.'),
    };
  });
  return { found: [...publications, ...records], seen: 'interrupted commands' };
};

/** Changes nothing without `fix`. Throws what opening the repository throws. */
export async function examineRepository(
  project: Project,
  { fix, agents = null, findHooks = null }: { fix: boolean } & Partial<Pick<Scene, 'agents' | 'findHooks'>>,
): Promise<Examined> {
  const read = async (): Promise<Scene> => ({ ...(await readScene(project)), agents, findHooks });
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

async function readScene(project: Project): Promise<Omit<Scene, 'agents' | 'findHooks'>> {
  const [refs, lines, remains] = await Promise.all([
    project.repository.store.listRefs('refs/heads/teddy/', 'refs/remotes/*/teddy/*', 'refs/teddy/'),
    listLines(withoutNotes(project)).catch(toNone),
    project.remains.look(),
  ]);
  return { project, refs, lines, remains };
}

/** An examination changes nothing, not even caches. */
function withoutNotes(project: Project): Project {
  const { repository } = project;
  const cache = { read: (key: string) => repository.cache.read(key), write: async () => undefined };
  return { ...project, repository: { ...repository, cache } };
}

/** Another examination reports the damage below a branch. */
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

function toReported({ kind, thing, meaning, fix = null, todo = null }: Found): ReportedFinding {
  return { kind, thing, meaning, fix, todo, outcome: 'left', said: null };
}

async function mend(found: Found): Promise<ReportedFinding> {
  const reported = toReported(found);
  if (found.mend === undefined) return reported;
  try {
    return { ...reported, said: await found.mend(), outcome: 'mended' };
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
        meaning: `A pull or sync was killed, and ${count(left.length, 'ref')} that it had fetched and not taken ${left.length === 1 ? 'is' : 'are'} still there.`,
        fix: 'removes them; the next pull fetches them again',
        async mend() {
          await clearQuarantine(project, refs);
          return 'They are removed.';
        },
      },
    ],
    seen: 'quarantine',
  };
};

/** Commands of conversations that were cut off: what they changed in `.teddy/` is to be put back. */
const findCommands: Examination = async ({ project, refs }) => {
  const left = await project.journal.look(commandKind);
  return { found: left.map((one) => toCutOffCommand(project, refs, one)), seen: 'commands of conversations' };
};

function toCutOffCommand(project: Project, refs: Scene['refs'], { path, facts }: LeftOperation<CommandFacts>): Found {
  const found = { kind: 'interrupted-command' as const, thing: path };
  if (facts === null) {
    return {
      ...found,
      meaning:
        'The note of a command that a conversation ran is damaged: nothing says what it may have changed in .teddy/.',
      todo: `Look at \`git diff HEAD -- .teddy\`, take back what is not yours, then remove the note: \`rm ${toShellWord(path)}\`.`,
    };
  }
  const line = shortRef(facts.ref);
  const meaning = `A conversation was killed while it ran a command of turn ${facts.turn} on ${line} in ${facts.root}; what that changed in .teddy/ may still be there.`;
  if (!refs.some(({ ref }) => ref === facts.ref)) {
    return { ...found, meaning, todo: `${line} is gone: look at ${facts.root}, then \`rm ${toShellWord(path)}\`.` };
  }
  return {
    ...found,
    meaning,
    fix: 'puts .teddy/ back as it was, as the next command on that line does',
    async mend() {
      await prepareLine(project, facts.ref);
      return 'The files of its .teddy/ that were there before the command are as they were.';
    },
  };
}

/** The time for which deleted sessions are kept. */
const keptMs = 30 * 86_400_000;

/** The refs that `session delete` keeps are removed when their time is over, and only by `--fix`. */
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
        : [
            `Deleted sessions are kept for 30 days: ${names(recent)}. Take one back: teddy session delete --restore <session>`,
          ],
  };
};

/** A ref without a time in its name is kept. */
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
    meaning: `${count(old.length, 'branch', 'branches')} of sessions that were deleted more than 30 days ago: ${names}.`,
    fix: 'removes what is kept of them for good',
    async mend() {
      const updates = old.map(({ ref, oid }) => ({ ref, old: oid, new: null }));
      await addForgotten(
        project.repository.cache,
        old.map(({ oid }) => oid),
      );
      const isDone = await moveRefs(project, updates, 'no longer kept');
      return isDone ? 'They are removed.' : 'Somebody has moved them meanwhile; they are left.';
    },
  };
}

/** Finds refs among the archives that no command of teddy reads. git holds no ref below another one. */
const findMisplacedArchives: Examination = async ({ refs }) => {
  const archives = refs.filter(({ ref }) => ref.startsWith(archivePrefix));
  const found = archives.filter(({ ref }) => parseArchiveRef(ref) === null).map(toMisplaced);
  return { found, seen: archives.length === 0 ? null : count(archives.length, 'archive') };
};

function toMisplaced({ ref, oid }: RefTip): Found {
  const isMonth = /^refs\/teddy\/archive\/\d{4}-\d{2}$/.test(ref);
  const meaning = isMonth
    ? `The ref ${ref} is in the way: no session of that month can be archived beside it.`
    : `teddy does not read ${ref}, and does not push it: an archive has the name of its line, below the month of its session.`;
  const todo = `Give its commits a branch: \`git branch <name> ${oid.slice(0, 12)}\`, then \`git update-ref -d ${ref} ${oid}\`.`;
  return { kind: isMonth ? 'branch-in-the-way' : 'misplaced-archive', thing: ref, meaning, todo };
}

/** The order matters: problems that block the others are fixed first. */
const examinations: Examination[] = [
  findForeignLocks,
  findPublications,
  findLeftovers,
  findEnvironment,
  async ({ findHooks }) => (await findHooks?.()) ?? { found: [], seen: null },
  findCapture,
  findCommands,
  findRuns,
  findAnswers,
  findWrites,
  findMemoPairs,
  findQuarantine,
  findDeleted,
  findMisplacedArchives,
  findDivergedLines,
  findDamagedObjects,
  findLostEntries,
  findSessionFiles,
  findWorkTrees,
];
