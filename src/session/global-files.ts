/** What belongs to every session of a repository, on the branch `teddy/global`. */
import type { RepoPath } from './names.ts';

export const memosPath = '.teddy/memos.yaml' as RepoPath;
export const globalContextPath = '.teddy/global.context' as RepoPath;
export const attributesPath = '.teddy/.gitattributes' as RepoPath;

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

const usualDocuments = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'AGENTS.md'];

/** The first `global.context`: the documents that the project has, of those that explain a project. */
export function toGlobalContext(topLevel: readonly string[]): string {
  const present = usualDocuments.filter((name) => topLevel.includes(name));
  return [
    '# Files that the model is shown in every turn of every session, one path a line.',
    '# A directory stands for all files in it; `!path` takes one away again.',
    ...(present.length === 0 ? ['README.md'] : present),
    '',
  ].join('\n');
}

export const sessionContextText = `# Files that the model is shown in every turn of this session, one path a line.
# A directory stands for all files in it; \`!path\` takes one away that global.context names.
`;

/** Lines that one side added or removed against a base, applied to another text; its other lines stay as they are. */
export function mergeLines(base: string, mine: string, theirs: string): string {
  const baseLines = new Set(base.split('\n'));
  const mineLines = mine.split('\n').filter((line) => line !== '');
  const removed = new Set([...baseLines].filter((line) => line !== '' && !mineLines.includes(line)));
  const kept = theirs.split('\n').filter((line) => line !== '' && !removed.has(line));
  const added = mineLines.filter((line) => !baseLines.has(line) && !kept.includes(line));
  return [...kept, ...added].map((line) => `${line}\n`).join('');
}
