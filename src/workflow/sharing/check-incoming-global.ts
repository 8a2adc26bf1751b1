/** `teddy/global` from elsewhere: three kinds of files, small and plain, that read as what they are. */
import type { CommitChange, Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { TeddyError } from '../../errors.ts';
import { isAgentName } from '../../session/global-files.ts';
import type { Oid, RepoPath } from '../../names.ts';
import type { Violation } from '../../session/violation.ts';
import { toText } from '../../view/view.ts';
import { changeCounter } from './count-changes.ts';
import { tooManyPaths } from './survey-line.ts';

/** They are part of every request: what is larger was written by no person. */
const maxFileBytes = 1024 * 1024;
const maxAgents = 1000;
const maxCommits = 100_000;

type Found = { reason: string; violations: Violation[] };

/** Null: it can be taken. `local`: what is here; it is not looked at again. */
export async function checkIncomingGlobal(project: Project, tip: Oid, local: Oid | null): Promise<Found | null> {
  const { store } = project.repository;
  const violations: Violation[] = [];
  const blame = (commit: Oid, path: RepoPath, message: string) =>
    void violations.push({ rule: 'path', commit, turn: null, path, message });
  const counter = changeCounter(store);
  for await (const { commit } of store.firstParents(tip, local === null ? [] : [local]))
    if (!(await counter.add(commit))) return { reason: tooManyPaths, violations: [] };
  let count = 0;
  for await (const { oid, changes } of store.walkChanges(tip, local === null ? [] : [local])) {
    count += 1;
    if (count > maxCommits) return { reason: `it has more than ${maxCommits} commits`, violations: [] };
    for (const change of changes) {
      const message = await whyBad(store, change);
      if (message !== null) blame(oid, change.path, message);
    }
    if (violations.length > 0) break;
  }
  if (violations.length === 0) await checkTip(store, tip, blame);
  const [first] = violations;
  if (first === undefined) return null;
  return { reason: `${first.commit.slice(0, 12)}, ${first.path}: ${first.message}`, violations };
}

async function whyBad(store: Store, { path, mode, after }: CommitChange): Promise<string | null> {
  if (after === null) return null;
  if (!isGlobalPath(path)) return 'teddy/global has no such file.';
  if (mode !== '100644') return 'It is no plain file.';
  const sizeBytes = await store.readSize(after);
  if (sizeBytes === null) return `The object ${after} is missing.`;
  return sizeBytes > maxFileBytes ? `The file has ${sizeBytes} bytes; ${maxFileBytes} are the most.` : null;
}

/** A README.md beside the agents is none of them, and does no harm. */
function isGlobalPath(path: string): boolean {
  if (path === 'memos.yaml' || path === 'global.context') return true;
  const agent = /^agents\/([^/]+)\.md$/.exec(path)?.[1];
  return agent !== undefined && (isAgentName(agent) || agent === 'README');
}

/** All of it, also what was there before the first commit that is new. */
async function checkTip(
  store: Store,
  tip: Oid,
  blame: (commit: Oid, path: RepoPath, message: string) => void,
): Promise<void> {
  const root = (await store.readDir(tip, '' as RepoPath))?.entries ?? [];
  const agents = (await store.readDir(tip, 'agents' as RepoPath))?.entries ?? [];
  if (agents.length > maxAgents) blame(tip, 'agents' as RepoPath, `There are more than ${maxAgents} agents.`);
  for (const { name } of root)
    if (name !== 'agents' && !isGlobalPath(name)) blame(tip, name as RepoPath, 'teddy/global has no such file.');
  const memos = await store.readFile(tip, 'memos.yaml' as RepoPath);
  if (memos === null) return;
  const { parseMemos } = await import('../../session/memos.ts');
  try {
    parseMemos(toText(memos.bytes));
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    blame(tip, 'memos.yaml' as RepoPath, `It cannot be read: ${error.message}`);
  }
}
