/** Derives a log's sections that come from a blob or a prompt. */
import type { Project } from '../../ports/project.ts';
import { maxShownBytes, type ShownFile, readContextFiles } from '../../session/context/context-files.ts';
import type { RequestMode } from '../../session/context/context-log.ts';
import type { ParsedContextLog } from '../../session/context/context-log-parse.ts';
import {
  fileSection,
  memosSection,
  renderLabel,
  systemSection,
  treeSection,
  type LogSection,
} from '../../session/context/context-log-sections.ts';
import { keepRecent } from '../../session/context/keep-recent.ts';
import { memosPath } from '../../session/global/global-files.ts';
import { joinPath, sessionDir, type Oid, type RepoPath } from '../../names.ts';
import { isBranchTurn } from '../context/build-request.ts';
import { toText } from '../../view/view.ts';
import type { CodeTrees } from './code-trees.ts';
import { isMaskedFrom } from './compare-section.ts';
import type { LogRequest, Expected } from './verify.ts';
import { agentNames, listPrompts } from '../../conversation/prompts/agents.ts';

export interface Sources {
  system(asked: ParsedContextLog['frontMatter'], section: LogSection): Promise<Expected>;
  memos(request: LogRequest, section: LogSection): Promise<Expected>;
  tree(listing: string): Expected;
  file(request: LogRequest, section: LogSection): Promise<Expected>;
}

const unknown: Expected = { kind: 'unknown' };

export function openSources(project: Project, code: CodeTrees): Sources {
  const readBody = openBodies(project);
  const pages = openPages(project);
  const prompt = keepRecent((_: string, expect: () => Promise<Expected>) => expect(), {
    max: 4,
    isKept: ({ kind }) => kind === 'text',
  });
  return {
    // Every turn begins with the same prompt, so teddy checks and renders it once.
    system(asked, section) {
      const key = [asked.agent, asked.mode, renderLabel(section), section.body].join('\0');
      return prompt(key, () => expectSystem(project, asked, section));
    },
    memos: (request, section) => expectMemos(project, request, section),
    tree: (text) => ({ kind: 'text', body: treeSection({ text, masked: 0 }).body }),
    async file({ commit, session, turn }, { path, provenance, body }) {
      if (path === null || provenance.kind === 'refused') return unknown;
      const isPage = /^https?:\/\//.test(path);
      const found = isPage ? null : await code.find(commit, path as RepoPath);
      // A branch keeps the content that another commit showed.
      const isKept = isBranchTurn(turn);
      if (provenance.kind === 'missing')
        return found === null || isKept
          ? { kind: 'text', body: fileSection({ kind: 'missing', path: path as RepoPath }).body }
          : wrong('The project does have this file.');
      if (provenance.kind === 'not-shown')
        return found === null ? unknown : expectNotShown(project, found.oid, provenance, isKept);
      const { source } = provenance;
      if (source?.kind !== 'blob')
        return source?.kind === 'stored' && found !== null && !isKept
          ? wrong('The log shows a different version of this file from the one in the project.')
          : unknown;
      if (isPage ? !(await pages.has(commit, session, source.oid)) : found?.oid !== source.oid && !isKept)
        return wrong('It names a different blob from the one that the commit has at this path.');
      if (isKept && (await project.repository.store.readSize(source.oid)) === null) return unknown;
      const expected = await readBody(
        `${source.oid} ${provenance.lossy} ${path}`,
        path as RepoPath,
        source.oid,
        provenance.lossy,
      );
      // Nothing here can prove that the turn that the branch left showed the blob at this path.
      const isElsewhere = isKept && !isPage && found?.oid !== source.oid;
      return isElsewhere && expected.kind === 'text' && expected.body === body ? unknown : expected;
    },
  };
}

function wrong(message: string): Expected {
  return { kind: 'wrong', message };
}

async function expectNotShown(
  { repository: { store } }: Project,
  oid: Oid,
  { bytes, reason }: Pick<ShownFile & { kind: 'not-shown' }, 'bytes' | 'reason'>,
  isKept: boolean,
): Promise<Expected> {
  const size = await store.readSize(oid);
  if (size === null || (isKept && size !== bytes)) return unknown;
  if (size !== bytes) return wrong(`It says ${bytes} bytes, but the file has ${size}.`);
  if (reason === 'large' && size <= maxShownBytes) return wrong('It says that the file is large, but it is not.');
  const path = '' as RepoPath; // the body does not name it
  return { kind: 'text', body: fileSection({ kind: 'not-shown', path, bytes, reason }).body };
}

/**
 * Re-renders a prompt if it is from the same version of teddy; for another version, the section must have the sha256
 * named in the log.
 */
async function expectSystem(
  project: Project,
  { agent, mode }: ParsedContextLog['frontMatter'],
  { body, provenance }: LogSection,
): Promise<Expected> {
  const source = provenance.kind === 'shown' ? provenance.source : null;
  if (source === null || source.kind === 'stored') return unknown;
  if (source.kind === 'builtin') {
    const isSame = [body, body.replace(/\n$/, '')].some((text) => project.hash(text) === source.sha);
    if (!isSame) return wrong('It is not the prompt whose sha256 it names.');
    return isBuiltin(agent, mode, body) ? { kind: 'text', body } : unknown;
  }
  const text = await readText(project, source.oid);
  if (text === null) return unknown;
  const again = listPrompts(agent, new Map([[agent, text]]), mode).map(systemBody);
  const found = again.find((one) => one === body || isMaskedFrom(body, one));
  if (found !== undefined) return { kind: 'text', body: found };
  // The protocol after the prompt may be from another version of teddy.
  return body.startsWith(`${text.trim()}\n`) ? unknown : { kind: 'text', body: again[0] ?? '' };
}

function isBuiltin(agent: string, mode: RequestMode | undefined, body: string): boolean {
  const none = new Map<string, string>();
  return agentNames(none).includes(agent) && listPrompts(agent, none, mode).map(systemBody).includes(body);
}

function systemBody(text: string): string {
  return systemSection({ text, source: { kind: 'stored' }, masked: 0 }).body;
}

/** `teddy/global` is not on the line, but the commit has its content from that time. */
async function expectMemos(
  project: Project,
  { commit, turn }: LogRequest,
  { provenance }: LogSection,
): Promise<Expected> {
  const source = provenance.kind === 'shown' ? provenance.source : null;
  if (source?.kind !== 'blob') return unknown;
  const copy = await project.repository.store.readFile(commit, memosPath);
  if (copy?.oid !== source.oid && !isBranchTurn(turn))
    return wrong("It names a different blob from the one in the commit's memos.yaml.");
  const text = await readText(project, source.oid);
  return text === null ? unknown : { kind: 'text', body: memosSection({ text, source, masked: 0 }).body };
}

async function readText({ repository: { store } }: Project, oid: Oid): Promise<string | null> {
  return (await store.readSize(oid)) === null ? null : toText(await store.readBlob(oid));
}

/** Renders each file once, because most files appear in many turns. */
function openBodies({ repository: { store } }: Project) {
  const read = async (_: string, path: RepoPath, oid: Oid, isLossy: boolean): Promise<Expected> => {
    if ((await store.readSize(oid)) === null)
      return { kind: 'wrong', message: `The blob ${oid}, which it shows, is missing.`, missing: oid };
    const place = { level: 'session' as const, line: 1, text: path };
    const settled = { path, source: { kind: 'blob' as const, oid }, place, aloneBy: 'user' as const, isUsers: true };
    const [file] = await readContextFiles([settled], { read: store.readBlob, size: store.readSize });
    if (file?.kind !== 'shown' || file.lossy !== isLossy) return wrong('It is not shown the way teddy reads it.');
    return { kind: 'text', body: fileSection(file).body };
  };
  return keepRecent(read, { max: 256, isKept: (one) => one.kind === 'text' && one.body.length <= 256 * 1024 });
}

/** Opens the pages fetched in the session's earlier turns. */
function openPages({ repository: { store } }: Project) {
  const listPages = async (_: Oid, commit: Oid, turn: RepoPath) =>
    ((await store.readDir(commit, joinPath(turn, 'pages')))?.entries ?? []).map(({ oid }) => oid);
  const pagesOf = keepRecent(listPages, { max: 20_000 });
  return {
    async has(commit: Oid, session: LogRequest['session'], page: Oid): Promise<boolean> {
      const dir = await store.readDir(commit, sessionDir(session));
      for (const { mode, oid, name } of dir?.entries ?? []) {
        if (mode !== '40000') continue;
        if ((await pagesOf(oid, commit, joinPath(sessionDir(session), name))).includes(page)) return true;
      }
      return false;
    },
  };
}
