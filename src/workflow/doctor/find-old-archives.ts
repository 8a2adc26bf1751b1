/** Finds archives that have the names from before archives had months, and refs that stand where a month would be. */
import { TeddyError } from '../../errors.ts';
import type { RefTip, RefUpdate } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { archivePrefix, nameRef, parseArchiveRef, shortRef, type RefName } from '../../names.ts';
import { planArchive } from '../../session/archives.ts';
import { nameSome } from '../../session/name-some.ts';
import { count, type Examination, type Found } from './finding.ts';

/** So often others may move an archive in between. */
const maxAttempts = 5;

export const findOldArchives: Examination = async ({ project, refs }) => {
  const archives = refs.filter(({ ref }) => ref.startsWith(archivePrefix));
  if (archives.length === 0) return { found: [], seen: null };
  const { lines, held } = await planMoves(project, archives);
  const moved = lines.length === 0 ? [] : [toFound(project, lines.map(nameRef))];
  return {
    found: [...archives.flatMap(toUnread), ...moved, ...held.map(toHeld)],
    seen: count(archives.length, 'archive'),
  };
};

interface Moves {
  /** The old names that go. */
  lines: RefName[];
  updates: RefUpdate[];
  /** Pairs of archives of one line, each with commits that the other does not have. */
  held: { old: RefTip; other: RefTip }[];
}

async function planMoves({ repository: { store } }: Project, archives: readonly RefTip[]): Promise<Moves> {
  const moves: Moves = { lines: [], updates: [], held: [] };
  for (const { ref, oid } of archives) {
    const old = parseArchiveRef(ref);
    if (old?.isFlat !== true) continue;
    const { updates, inTheWay } = await planArchive(store, old.line, oid);
    if (inTheWay !== null) moves.held.push({ old: { ref, oid }, other: inTheWay });
    else moves.lines.push(ref);
    moves.updates.push(...updates);
  }
  return moves;
}

function toFound(project: Project, names: readonly string[]): Found {
  const isOne = names.length === 1;
  return {
    kind: 'old-archive',
    thing: archivePrefix,
    meaning: `${count(names.length, 'archive')} ${isOne ? 'is' : 'are'} not below the month of ${isOne ? 'its session' : 'their sessions'}, as an earlier teddy kept them: ${nameSome(names)}. teddy reads ${isOne ? 'it' : 'them'} all the same.`,
    fix: 'moves each below its month, all of them or none',
    mend: () => moveAll(project),
  };
}

/** git writes what is new before it removes what is old: whatever stops it in between, each line is under one name at least. */
async function moveAll(project: Project): Promise<string> {
  const { store } = project.repository;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const { lines, updates } = await planMoves(project, await store.listRefs(archivePrefix));
    if (updates.length === 0 || (await store.updateRefs(updates, 'teddy: archived by month')) === 'done')
      return `${count(lines.length, 'archive')} moved.`;
  }
  throw new TeddyError(
    'REF_MOVED',
    'The archives have moved again and again meanwhile.',
    'Run the command again when nobody else works on them.',
  );
}

function toHeld({ old, other }: Moves['held'][number]): Found {
  const line = parseArchiveRef(old.ref)?.line ?? old.ref;
  return {
    kind: 'old-archive',
    thing: old.ref,
    meaning: `${shortRef(line)} is archived as ${other.ref} as well, and each has commits that the other does not have; teddy reads ${other.ref}.`,
    todo: `Give the other commits a branch: \`git branch ${shortRef(line).slice('teddy/20260124-'.length)}-kept ${old.oid.slice(0, 12)}\`, then \`git update-ref -d ${old.ref} ${old.oid}\`.`,
  };
}

/** Finds a ref that no command of teddy reads. git holds no ref below another one. */
function toUnread({ ref, oid }: RefTip): Found[] {
  if (parseArchiveRef(ref) !== null) return [];
  const isMonth = /^refs\/teddy\/archive\/\d{4}-\d{2}$/.test(ref);
  const meaning = isMonth
    ? `The ref ${ref} is in the way: no session of that month can be archived beside it.`
    : `teddy does not read ${ref}, and does not push it: an archive has the name of its line, below the month of its session.`;
  const todo = `Give its commits a branch: \`git branch <name> ${oid.slice(0, 12)}\`, then \`git update-ref -d ${ref} ${oid}\`.`;
  return [{ kind: isMonth ? 'branch-in-the-way' : 'misplaced-archive', thing: ref, meaning, todo }];
}
