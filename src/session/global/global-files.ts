/** The files that belong to every session of a repository, on the branch `teddy/global`. */
import { TeddyError } from '../../errors.ts';
import { parseContextLine } from '../context/context-lines.ts';
import type { RepoPath } from '../../names.ts';

export const memosPath = '.teddy/memos.yaml' as RepoPath;
export const globalContextPath = '.teddy/global.context' as RepoPath;
export const attributesPath = '.teddy/.gitattributes' as RepoPath;
/** Settings that travel with the project: the user's file, like any of the code, though it lies in `.teddy/`. */
export const configPath = '.teddy/config.yaml' as RepoPath;

/** Published by teddy: no command and no edit of the user's changes it by the way. */
export function isSessionPath(path: string): boolean {
  return path.startsWith('.teddy/') && path !== configPath;
}

/** No command of a plan changes it: published by teddy, or the user's settings. */
export function isGuardedPath(path: string): boolean {
  return isSessionPath(path) || path === configPath;
}

/** The lines' `.gitattributes`: no setting of the user's changes our bytes, and diffs stay readable. */
export const attributesText = `* -text -filter -ident -working-tree-encoding
_context.log -diff linguist-generated
transcript.jsonl -diff linguist-generated
`;

export interface GlobalFiles {
  memos: string;
  globalContext: string;
  /** Prompts of the user's own, by the agent's name. */
  agents: ReadonlyMap<string, string>;
}

/** A file that the user edits on `teddy/global`. `agent` is the agent's name, null for the other two. */
export interface GlobalFile {
  name: string;
  agent: string | null;
}

/** Reads `global.context`, `memos.yaml` and `agents/<name>.md`. Throws USAGE, or BAD_NAME for an agent's. */
export function parseGlobalFile(text: string): GlobalFile {
  if (text === 'global.context' || text === 'memos.yaml') return { name: text, agent: null };
  const agent = /^agents\/([^/]+?)(?:\.md)?$/.exec(text)?.[1];
  if (agent === undefined) {
    throw new TeddyError(
      'USAGE',
      `teddy/global has no file ${JSON.stringify(text)}.`,
      'It has `global.context`, `memos.yaml` and `agents/<name>.md`.',
    );
  }
  if (isAgentName(agent)) return { name: `agents/${agent}.md`, agent };
  throw new TeddyError(
    'BAD_NAME',
    `No agent can be called ${JSON.stringify(agent)}.`,
    'A name has lower-case letters, digits and single hyphens: `agents/release-notes.md`.',
  );
}

export function isAgentName(text: string): boolean {
  return /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(text);
}

const usualDocuments = [
  /^readme(?:\.(?:md|markdown|rst|adoc|txt))?$/i,
  /^ARCHITECTURE\.md$/,
  /^CONTRIBUTING\.md$/,
  /^AGENTS\.md$/,
];

/** The first `global.context`: the documents that the project has, of those that explain a project. */
export function toGlobalContext(topLevel: readonly string[]): string {
  const present = usualDocuments.flatMap((usual) => topLevel.filter((name) => usual.test(name)));
  return [
    '# Files that the model is shown in every turn of every session, one path a line.',
    '# A directory stands for all files in it; `!path` takes one away again.',
    ...(present.length === 0 ? ['README.md'] : present),
    '',
  ].join('\n');
}

/** It names nothing but documents that teddy names by itself: then it does not matter who wrote it. */
export function isUsualContext(text: string): boolean {
  return text
    .split('\n')
    .map(parseContextLine)
    .every((line) => line === null || (!line.removes && usualDocuments.some((usual) => usual.test(line.text))));
}

export const sessionContextText = `# Files that the model is shown in every turn of this session, one path a line.
# A directory stands for all files in it; \`!path\` takes one away that global.context names.
`;
