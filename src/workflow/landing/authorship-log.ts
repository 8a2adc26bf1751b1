/**
 * Discloses which of a landing's lines came from models: a log in git-ai's open format, the Git AI Standard v3.0.0, as
 * a note on the commit. Each turn is a session in that format, because one person asked and one model answered. Omits
 * people's lines: the format has keys for people whom an editor has seen typing, while teddy only knows that the lines
 * did not come from a session.
 */
import { findAgent } from '../../agents/agents.ts';
import type { Oid, RefName, RepoPath } from '../../names.ts';
import type { TreeFile } from '../../ports/git.ts';
import type { Hash, Project } from '../../ports/project.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { attributeFiles, groupLines, type Contributor } from '../blame/attribute-files.ts';
import { addNote, hasNote } from '../line/notes.ts';

/** The ref that the format requires. */
const notesRef = 'refs/notes/ai' as RefName;

export interface AuthorshipNote {
  ref: RefName;
  /** The number of lines from models, and of files with lines from models. */
  lines: number;
  files: number;
}

/**
 * Adds a commit's log. Returns null when the commit already has a note, which stays, or when none of its lines came
 * from a model. Throws the errors of `attributeFiles`, and REF_MOVED.
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

/** The lines from one of a turn's commits. */
interface Claim {
  step: Oid;
  by: Contributor;
  ranges: [first: number, last: number][];
}

/** The log cannot contain this name in a line, or readers would misread the line. */
const unwritable = /["\uFFFD]|(?!\t)\p{Cc}/u;

/** Lists the files with lines from models, sorted by name. */
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
      `The authorship log leaves out files that are too large or have names it cannot represent: ${nameSome(leftOut)}.`,
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
 * Renders the log without messages, which the format no longer contains; they are in the session. The same commit
 * always produces the same bytes, because each trace is named after the commit that introduced the lines rather than at
 * random.
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
    // The quotes distinguish this name from the divider.
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
