/** The files that belong to every session in a repository, on the branch `teddy/global`. */
import { TeddyError } from '../../errors.ts';
import { parseContextLine } from '../context/context-lines.ts';
import type { RepoPath } from '../../names.ts';

export const memosPath = '.teddy/memos.yaml' as RepoPath;
export const globalContextPath = '.teddy/global.context' as RepoPath;
export const attributesPath = '.teddy/.gitattributes' as RepoPath;
/** Settings that travel with the project. Like the code, the file belongs to the user, although it is in `.teddy/`. */
export const configPath = '.teddy/config.yaml' as RepoPath;

/** Returns true if teddy publishes the path, which neither commands nor the user's edits may change as a side effect. */
export function isSessionPath(path: string): boolean {
  return path.startsWith('.teddy/') && path !== configPath;
}

/** Returns true if a plan's commands must not change the path: teddy publishes it, or it contains the user's settings. */
export function isGuardedPath(path: string): boolean {
  return isSessionPath(path) || path === configPath;
}

/** The `.gitattributes` on lines. It prevents user settings from changing teddy's bytes, and keeps diffs readable. */
export const attributesText = `* -text -filter -ident -working-tree-encoding
_context.log -diff linguist-generated
transcript.jsonl -diff linguist-generated
`;

export interface GlobalFiles {
  memos: string;
  globalContext: string;
  /** The user's own prompts, keyed by the agent's name. */
  agents: ReadonlyMap<string, string>;
}

/** A file that the user edits on `teddy/global`. `agent` is null for all files other than an agent's prompt. */
export interface GlobalFile {
  name: string;
  agent: string | null;
}

/** Parses `global.context`, `memos.yaml` and `agents/<name>.md`. Throws USAGE, or BAD_NAME for an agent's name. */
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
    `${JSON.stringify(agent)} is not a valid agent name.`,
    'A name consists of lower-case letters, digits and single hyphens: `agents/release-notes.md`.',
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

/** Makes the first `global.context`, which lists the usual documents found in the project. */
export function toGlobalContext(topLevel: readonly string[]): string {
  const present = usualDocuments.flatMap((usual) => topLevel.filter((name) => usual.test(name)));
  return [
    '# Files that the model is shown in every turn of every session, one path a line.',
    '# A directory stands for all files in it; `!path` takes one away again.',
    ...(present.length === 0 ? ['README.md'] : present),
    '',
  ].join('\n');
}

/** Returns true if the file lists only documents that teddy itself would list; then its author does not matter. */
export function isUsualContext(text: string): boolean {
  return text
    .split('\n')
    .map(parseContextLine)
    .every((line) => line === null || (!line.removes && usualDocuments.some((usual) => usual.test(line.text))));
}

export const sessionContextText = `# Files that the model is shown in every turn of this session, one path a line.
# A directory stands for all files in it; \`!path\` takes one away that global.context names.
`;
