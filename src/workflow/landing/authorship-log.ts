/**
 * Discloses which lines of a landing models have brought: a log in git-ai's open format, the Git AI Standard v3.0.0, as a note on the
 * commit. Each turn is a session of that format, since it has one person who asked and one model that answered. Lines of people are
 * left out: the format has keys for those whom an editor has seen typing, and teddy knows only that no session brought the lines.
 */
import { findAgent } from '../../agents/agents.ts';
import type { Oid, RefName, RepoPath } from '../../names.ts';
import type { TreeFile } from '../../ports/git.ts';
import type { Hash, Project } from '../../ports/project.ts';
import { nameSome } from '../../session/name-some.ts';
import { attributeFiles, groupLines, type Contributor } from '../blame/attribute-files.ts';
import { addNote, hasNote } from './add-note.ts';

/** Where the format wants it. */
const notesRef = 'refs/notes/ai' as RefName;

export interface AuthorshipNote {
  ref: RefName;
  /** How many lines models have brought, and of how many files. */
  lines: number;
  files: number;
}

/**
 * Adds the log of a commit. Null: the commit has a note, which stays as it is, or no model has brought a line of it. Throws what
 * `attributeFiles` throws, and REF_MOVED.
 */
export async function addAuthorshipNote(project: Project, commit: Oid): Promise<AuthorshipNote | null> {
  const { store } = project.repository;
  if (await hasNote(store, notesRef, commit)) return null;
  const files = await attest(project, commit);
  const text = renderLog(project.hash, commit, files);
  if (files.length === 0 || !(await addNote(project, notesRef, commit, text))) return null;
  const ranges = files.flatMap(({ claims }) => claims.flatMap((claim) => claim.ranges));
  const lines = ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  return { ref: notesRef, lines, files: files.length };
}

interface AttestedFile {
  path: RepoPath;
  claims: Claim[];
}

/** The lines that one commit of a turn has brought. */
interface Claim {
  step: Oid;
  by: Contributor;
  ranges: [first: number, last: number][];
}

/** A line of the log cannot hold such a name, or a reader would err at it. */
const unwritable = /["\uFFFD]|(?!\t)\p{Cc}/u;

/** The files of which a model has brought lines, in the order of their names. */
async function attest(project: Project, commit: Oid): Promise<AttestedFile[]> {
  const { store } = project.repository;
  const [parent = null] = (await store.readCommit(commit)).parents;
  const changes = await store.diffTrees(parent, commit, { without: '.teddy' as RepoPath });
  const changed = changes.flatMap(({ path, after: oid, mode }): TreeFile[] =>
    oid === null || mode === null ? [] : [{ path, oid, mode }],
  );
  const writable = changed.filter(({ path }) => !unwritable.test(path));
  const attributed = await attributeFiles(project, commit, writable, { ownOnly: true });
  const unnamed = changed.map(({ path }) => path).filter((path) => unwritable.test(path));
  const leftOut = [...unnamed, ...attributed.leftOut];
  if (leftOut.length > 0)
    project.notices.warn(
      `The authorship log says nothing about files that are too large for it, or whose names it cannot hold: ${nameSome(leftOut)}.`,
    );
  return attributed.files.flatMap(({ path, runs }) => {
    const groups = groupLines(runs, (author) => (author.kind === 'turn' ? author.commit : null));
    const claims = [...groups].flatMap(([step, ranges]): Claim[] => {
      const by = attributed.contributors.get(step);
      return by === undefined ? [] : [{ step, by, ranges }];
    });
    return claims.length === 0 ? [] : [{ path, claims }];
  });
}

/**
 * Without messages: the format has none any more, and what was said is in the session. The same commit gives the same bytes, so a trace
 * is named after the commit that brought the lines, and not by chance.
 */
function renderLog(hash: Hash, commit: Oid, files: readonly AttestedFile[]): string {
  const sessions = new Map<string, object>();
  const keys = new Map<Oid, string>();
  const models = new Map<string, string>();
  for (const { step, by } of files.flatMap(({ claims }) => claims)) {
    const tool = by.agent === null ? 'teddy' : (findAgent(by.agent)?.attestedAs ?? by.agent);
    const model = by.model ?? 'unknown';
    const turn = `${by.session}/${by.turn}`;
    const id = (models.get(turn) ?? model) === model ? turn : `${turn}/${model}`;
    models.set(id, model);
    const key = `s_${hash(`${tool}:${id}`).slice(0, 14)}`;
    sessions.set(key, { agent_id: { tool, id, model }, human_author: by.askedBy });
    keys.set(step, `${key}::t_${step.slice(0, 14)}`);
  }
  const rows = files.flatMap(({ path, claims }) => [
    // A name that equals the divider is told from it by its quotes.
    /\s|^---$/.test(path) ? `"${path}"` : path,
    ...claims.map((claim) => `  ${keys.get(claim.step)} ${claim.ranges.map(toRange).join(',')}`),
  ]);
  const metadata = {
    schema_version: 'authorship/3.0.0',
    base_commit_sha: commit,
    prompts: {},
    sessions: Object.fromEntries([...sessions].toSorted(([one], [other]) => (one < other ? -1 : 1))),
  };
  return `${rows.join('\n')}\n---\n${JSON.stringify(metadata, null, 2)}\n`;
}

function toRange([first, last]: readonly [number, number]): string {
  return first === last ? `${first}` : `${first}-${last}`;
}
