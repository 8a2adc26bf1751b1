/** Determines from a commit's files how git handles a path: which filter cleans the file, and which list ignores it. */
import type { Store } from '../../ports/git.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { findNameReason } from '../line/new-files.ts';
import type { Conversion } from './content.ts';
import type { RecordedRun } from './turn.ts';

interface RuleFile {
  directory: string;
  text: string;
}

/**
 * Returns the conversion that turns a file into its blob, such as `filter=lfs` or `working-tree-encoding=UTF-16`; null
 * when no known conversion applies.
 */
export async function findFilter(store: Store, treeish: Oid, path: RepoPath): Promise<string | null> {
  let found: string | null = null;
  for (const { directory, text } of await readRuleFiles(store, treeish, path, '.gitattributes')) {
    for (const line of text.split(/\r?\n/)) {
      const [pattern = '', ...attributes] = line.trim().split(/\s+/);
      const about = attributes.filter((one) => /^[-!]?(?:filter|working-tree-encoding)(?:=|$)/.test(one));
      if (about.length === 0 || pattern.startsWith('#')) continue;
      if (!(await matches([{ directory, text: pattern }], path))) continue;
      found = about.find((one) => /^[a-z-]+=./.test(one) && !one.startsWith('-')) ?? null;
    }
  }
  return found;
}

/** Returns true if one of the user's settings may make git store these bytes in another form: line endings, `$Id$`. */
export function mayBeConverted(bytes: Uint8Array): boolean {
  return bytes.includes(0x0d) || Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes('$Id');
}

const namesOf: Record<Conversion, RegExp> = {
  'line endings': /^(?:text|eol|crlf)(?:=|$)/,
  $Id$: /^ident$/,
};

/** Returns true if the commit's files make git apply all of these conversions at the path. */
export async function isConverted(store: Store, treeish: Oid, path: RepoPath, by: Conversion[]): Promise<boolean> {
  const found = new Map<Conversion, boolean>();
  for (const { directory, text } of await readRuleFiles(store, treeish, path, '.gitattributes')) {
    for (const line of text.split(/\r?\n/)) {
      const [pattern = '', ...attributes] = line.trim().split(/\s+/);
      const about = by.filter((one) => attributes.some((name) => namesOf[one].test(name.replace(/^[-!]/, ''))));
      if (about.length === 0 || pattern.startsWith('#')) continue;
      if (!(await matches([{ directory, text: pattern }], path))) continue;
      for (const one of about)
        found.set(
          one,
          attributes.some((name) => namesOf[one].test(name)),
        );
    }
  }
  return by.every((one) => found.get(one) === true);
}

/** Returns the reason why a run omits a new file from its commit. `isProven` means that the repository itself shows it. */
export async function whyNotTaken(
  { project, commit }: RecordedRun,
  path: RepoPath,
): Promise<{ reason: string; isProven: boolean } | null> {
  const { store, workspace } = project.repository;
  const named = findNameReason(path);
  if (named !== null) return { reason: `it is not in the commit: ${named}`, isProven: true };
  if (await isIgnoredIn(store, commit, path))
    return { reason: 'it is not in the commit: git ignores it', isProven: true };
  // This user's ignore lists are the best guess at the lists of the user who ran the plan.
  const ignored = await workspace?.ignored([path]);
  if (ignored === undefined || ignored.length === 0) return null;
  return { reason: 'it is not in the commit: git ignores it here', isProven: false };
}

/** Checks the lists in the project; the repository does not contain lists that a user keeps elsewhere. */
async function isIgnoredIn(store: Store, treeish: Oid, path: RepoPath): Promise<boolean> {
  const files = await readRuleFiles(store, treeish, path, '.gitignore');
  return files.length > 0 && matches(files, path);
}

async function matches(files: RuleFile[], path: RepoPath): Promise<boolean> {
  const { readIgnoreFiles } = await import('../../session/paths/ignore-rules.ts');
  return readIgnoreFiles(files)(path);
}

/** Reads the files next to the path and above it, outermost first. */
async function readRuleFiles(store: Store, treeish: Oid, path: RepoPath, name: string): Promise<RuleFile[]> {
  const parts = path.split('/').slice(0, -1);
  const directories = ['', ...parts.map((_, at) => parts.slice(0, at + 1).join('/'))];
  const found: RuleFile[] = [];
  for (const directory of directories) {
    const file = await store.readFile(treeish, (directory === '' ? name : `${directory}/${name}`) as RepoPath);
    if (file !== null) found.push({ directory, text: new TextDecoder().decode(file.bytes) });
  }
  return found;
}
