/**
 * Attributes the lines in several of a commit's files, and returns, for each author that is a turn, who answered and
 * who asked.
 */
import type { Oid, RepoPath, SessionId, TurnName } from '../../names.ts';
import type { TreeFile } from '../../ports/git.ts';
import { parseIdent } from '../../session/entries/logged-entry.ts';
import { attributeLines, openTracing, type AttributedRun, type Author } from './attribute-lines.ts';
import type { BlameSource, CodeSteps } from './code-steps.ts';
import type { Step } from '../../view/view.ts';
import { readTurnSteps } from './read-story.ts';

/** Who answered in a turn, according to its entries. */
export interface Contributor {
  session: SessionId;
  turn: TurnName;
  /** The other agent that owns the turn; null for teddy. */
  agent: string | null;
  /** Null when no record names the model, for example when the user entered the answer. */
  provider: string | null;
  model: string | null;
  /** `Name <email>` of the person who asked. */
  askedBy: string;
}

export interface AttributedFiles {
  /** The files in the given order, without files that have no requested lines. */
  files: { path: RepoPath; runs: AttributedRun[] }[];
  /** The files that are too large to examine or have non-UTF-8 names. */
  leftOut: RepoPath[];
  /** The contributors, keyed by the commits of the authors' turns. */
  contributors: ReadonlyMap<Oid, Contributor>;
}

/** A larger file is data. */
const maxBytes = 16 * 1024 * 1024;
/** Each file takes a git process. */
const filesAtOnce = 4;

/**
 * Only text has lines, so this omits links, submodules and binary files. `ownOnly` limits the result to lines that the
 * commit itself introduced and that its parents lack. Throws the errors of `attributeLines`.
 */
export async function attributeFiles(
  source: BlameSource,
  commit: Oid,
  candidates: readonly TreeFile[],
  { ownOnly }: { ownOnly: boolean },
): Promise<AttributedFiles> {
  const tracing = await openTracing(source, commit);
  const without = ownOnly ? (await source.repository.store.readCommit(commit)).parents : [];
  const attribute = async (file: TreeFile) => {
    const { path } = file;
    const kind = await classify(source, file);
    const query = { path, commit, ranges: [], without };
    const { runs } = kind === 'text' ? await attributeLines(source, query, tracing) : { runs: [] };
    return { path, kind, runs };
  };
  const files: Awaited<ReturnType<typeof attribute>>[] = [];
  for (let at = 0; at < candidates.length; at += filesAtOnce)
    files.push(...(await Promise.all(candidates.slice(at, at + filesAtOnce).map(attribute))));
  const found = files.filter(({ runs }) => runs.length > 0);
  const authors = found.flatMap(({ runs }) => runs.map(({ author }) => author));
  return {
    files: found.map(({ path, runs }) => ({ path, runs })),
    leftOut: files.filter(({ kind }) => kind === 'left-out').map(({ path }) => path),
    contributors: await readContributors(source, tracing.known, authors),
  };
}

/** Returns the first and last lines of each run by key, in the order of their first lines; omits lines with a null key. */
export function groupLines<Key>(
  runs: readonly AttributedRun[],
  keyOf: (author: Author) => Key | null,
): Map<Key, [first: number, last: number][]> {
  const groups = new Map<Key, [first: number, last: number][]>();
  for (const { author, line, texts } of runs) {
    const key = keyOf(author);
    if (key === null) continue;
    const ranges = groups.get(key) ?? [];
    const [last, end] = [ranges.at(-1), line + texts.length - 1];
    if (last?.[1] === line - 1) last[1] = end;
    else ranges.push([line, end]);
    groups.set(key, ranges);
  }
  return groups;
}

async function classify(
  { repository: { store } }: BlameSource,
  { path, mode, oid }: TreeFile,
): Promise<'text' | 'left-out' | 'other'> {
  if (mode !== '100644' && mode !== '100755') return 'other';
  if (path.includes('\uFFFD') || ((await store.readSize(oid)) ?? 0) > maxBytes) return 'left-out';
  // Follows git's rule: a NUL among the first bytes makes a file binary.
  return (await store.readBlob(oid)).subarray(0, 8000).includes(0) ? 'other' : 'text';
}

async function readContributors(
  source: BlameSource,
  { agents, originals }: CodeSteps,
  authors: readonly Author[],
): Promise<Map<Oid, Contributor>> {
  const contributors = new Map<Oid, Contributor>();
  const turns = new Map<string, Step[]>();
  for (const author of authors) {
    if (author.kind !== 'turn' || contributors.has(author.commit)) continue;
    const { commit, step, session, turn } = author;
    const origin = originals.get(step.entry ?? '') ?? commit;
    const key = `${session} ${turn}`;
    // A captured session's turn may have introduced code in thousands of commits.
    const read = turns.get(key)?.some((step) => step.commit === origin) ? turns.get(key) : undefined;
    const steps = read ?? (await readTurnSteps(source, origin, session, turn));
    turns.set(key, steps);
    const upTo = steps.slice(0, steps.findIndex((step) => step.commit === origin) + 1);
    contributors.set(commit, toContributor(author, steps, upTo, agents.get(session) ?? null));
  }
  return contributors;
}

/** `manual` and `recorded` are ways of answering, not models. */
const nameless: readonly (string | undefined)[] = ['manual', 'recorded', 'none'];

function toContributor(
  { session, turn }: Author & { kind: 'turn' },
  steps: readonly Step[],
  upTo: readonly Step[],
  foreign: string | null,
): Contributor {
  const answer = upTo.findLast(({ entry }) => entry?.model !== undefined && entry.kind !== 'message')?.entry;
  const { provider, model } = answer == null || nameless.includes(answer.provider) ? {} : answer;
  const opener = steps.find(({ entry }) => entry?.kind === 'message') ?? steps[0];
  const { name, email } = parseIdent(opener?.ident ?? '');
  // teddy's own turns may continue a captured line, and they record which of teddy's agents planned them.
  const isOwn = steps.some(({ entry }) => entry?.agent !== undefined);
  return {
    session,
    turn,
    agent: isOwn ? null : foreign,
    provider: provider ?? null,
    model: model ?? null,
    askedBy: `${name} <${email}>`,
  };
}
