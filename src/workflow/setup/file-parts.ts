/** The parts that consist of files: the MCP server, the skill, and the check in CI. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import type { FileChange, OwnText, Part, PartLook, SetupFile, SetupTools, Step } from '../../ports/setup.ts';
import { decodeText } from '../../session/text/bytes.ts';
import { findOriginal, toEditRecord } from '../../session/text/edit-record.ts';
import { parseForge } from '../../session/masks/urls.ts';
import type { RepoPath } from '../../names.ts';

type FileProject = Pick<Project, 'repository' | 'filesOf' | 'hash' | 'setup'>;
type FileTools = Pick<SetupTools, 'readPackageFile' | 'mcpText' | 'mcpFiles' | 'isOnPath'>;

/** A file, and teddy's text in it. */
interface Item {
  file: SetupFile;
  own: OwnText;
  /** The record's key, because a repository may have several work trees. */
  key: string;
  /** True for the user's own file, which all repositories share: only what was added from here is removed from here. */
  isShared?: boolean;
}

/** Files that the user decides on together. */
interface Decision {
  does: string;
  undoes: string;
  items: readonly Item[];
  isExtra?: boolean;
  /** Sentences about the user's next steps. */
  after?: readonly string[];
}

export function mcpPart(project: FileProject, tools: FileTools): Part {
  return filePart(project, 'mcp', async (toItem) => {
    const unfound = 'Agents start `teddy` by its name: put it on your PATH, or name its path in .mcp.json.';
    const shared = (await tools.mcpFiles()).map(({ title, file }) => ({
      does: `Let ${title} search sessions over MCP, in all your projects`,
      undoes: `Remove teddy's MCP server from ${title}`,
      items: [{ file, own: tools.mcpText(file.path), key: file.path, isShared: true }],
    }));
    const own = {
      does: 'Let agents in this project search its sessions over MCP',
      undoes: "Remove teddy's MCP server",
      items: [toItem('.mcp.json', tools.mcpText('.mcp.json'))],
      after: (await tools.isOnPath()) ? [] : [unfound],
    };
    return [own, ...shared];
  });
}

const skillPath = '.claude/skills/teddy/SKILL.md';
const mark = '<!-- teddy init -->';
const guideLine = `Earlier work on this repository is recorded. Before you repeat it, run \`teddy search <words>\`; \`teddy why <file>:<line>\` says who asked for a line, and why. ${mark}`;

export function skillPart(project: FileProject, tools: FileTools): Part {
  return filePart(project, 'skill', async (toItem) => {
    const [agents, claude] = [toItem('AGENTS.md', markedLine), toItem('CLAUDE.md', markedLine)];
    const isThere = async ({ file }: Item) => (await readIfFile(file)) !== null;
    const guide = !(await isThere(agents)) && (await isThere(claude)) ? claude : agents;
    const skill = wholeFile(await tools.readPackageFile('hooks/agents/skill/SKILL.md'));
    return [
      {
        does: "Add a skill that tells Claude Code when to use teddy's tools",
        undoes: 'Remove the skill',
        items: [toItem(skillPath, skill)],
      },
      {
        does: `Tell agents about the recorded sessions in a line of ${guide.file.path}`,
        undoes: `Remove teddy's line from ${guide.file.path}`,
        items: [guide],
        isExtra: !(await isThere(guide)),
      },
    ];
  });
}

/** For each forge, the files of the package, and their places in a repository. */
const ciFiles = {
  github: [
    ['fixtures/ci/teddy.yml', '.github/workflows/teddy.yml'],
    ['fixtures/ci/teddy-comment.yml', '.github/workflows/teddy-comment.yml'],
  ],
  gitlab: [['fixtures/ci/gitlab.yml', '.gitlab/teddy.yml']],
} as const;

/** The whole `.gitlab-ci.yml` of a repository that has none. */
const includeLines = 'include:\n  - local: .gitlab/teddy.yml\n';

/** Returns false for a file that was there before teddy. */
async function isOurs({ setup }: FileProject, { file, own, key }: Item): Promise<boolean> {
  const bytes = await readIfFile(file);
  const text = bytes === null ? null : decodeText(bytes);
  return bytes === null || (await setup.read(key)) !== null || (text !== null && own.find(text).state === 'whole');
}

export function ciPart(project: FileProject, tools: FileTools): Part {
  return filePart(project, 'ci', async (toItem) => {
    const url = await project.repository.store.setting('remote.origin.url');
    if (url === undefined) return 'There is no remote `origin`: docs/ci.md describes the check for any system.';
    const forge = parseForge(url)?.forge;
    if (forge === undefined)
      return 'docs/ci.md describes the check for other systems than that of the remote `origin`.';
    const [items, after]: [Item[], string[]] = [[], []];
    for (const [source, target] of ciFiles[forge]) {
      const text = await tools.readPackageFile(source);
      items.push(toItem(target, wholeFile(text)));
      for (const [at, line] of text.split('\n').entries())
        if (/\bexample(?:\.org)?\//.test(line))
          after.push(`Before you push, replace the placeholder in ${target}:${at + 1}.`);
    }
    const include = toItem('.gitlab-ci.yml', wholeFile(includeLines));
    const isOwn = forge === 'gitlab' && (await isOurs(project, include));
    if (isOwn) items.push(include);
    else if (forge === 'gitlab')
      after.push('Add these lines to .gitlab-ci.yml:', ...includeLines.trimEnd().split('\n'));
    return [{ does: 'Verify sessions in pull requests', undoes: 'Remove the check of pull requests', items, after }];
  });
}

/** A file that is teddy's as a whole, until somebody changes it. */
function wholeFile(content: string): OwnText {
  return {
    find: (text) => ({ state: text === content ? 'whole' : 'kept' }),
    add: () => content,
    remove: (text) => (text === content ? '' : null),
  };
}

function withoutMarked(text: string): string {
  return text.replace(/(?:\r?\n)?[^\n]*<!-- teddy init -->(?:\r?\n|$)/, '');
}

/** One line at the end, with a mark by which teddy recognizes it. */
const markedLine: OwnText = {
  find: (text) => ({ state: text.includes(guideLine) ? 'whole' : text.includes(mark) ? 'kept' : 'missing' }),
  add(text) {
    const rest = withoutMarked(text);
    const end = rest.includes('\r\n') ? '\r\n' : '\n';
    const gap = rest === '' ? '' : rest.endsWith('\n') ? end : end + end;
    return `${rest}${gap}${guideLine}${end}`;
  },
  remove: (text) => (text.includes(guideLine) ? withoutMarked(text) : null),
};

type Decide = (toItem: (path: string, own: OwnText) => Item) => Promise<readonly Decision[] | string>;

/** `decide` returns the decisions, or why there is nothing to decide. */
function filePart(project: FileProject, name: Part['name'], decide: Decide): Part {
  const root = project.repository.workspace?.root;
  const find = async (): Promise<readonly Decision[] | string> =>
    root === undefined
      ? 'This repository has no work tree.'
      : decide((path, own) => ({ file: projectFile(project, root, path as RepoPath), own, key: `${root}/${path}` }));
  return {
    name,
    async look() {
      const decisions = await find();
      if (typeof decisions === 'string') return { state: 'not-applicable', why: decisions };
      return lookAt(await Promise.all(decisions.map(({ items }) => Promise.all(items.map(inspect)))));
    },
    async planSetUp() {
      const decisions = await find();
      if (typeof decisions === 'string') return [decisions];
      const steps: Step[] = [];
      for (const { items, after = [], ...step } of decisions) {
        const changes = (await Promise.all(items.map((item) => planAdding(project, item)))).flatMap((one) => one ?? []);
        const carryOut: Step['carryOut'] = async (tell) => {
          for (const item of items) await add(project, item);
          after.forEach(tell);
        };
        if (changes.length > 0) steps.push({ ...step, changes, carryOut });
      }
      return steps;
    },
    async planRemoval() {
      const decisions = await find();
      const plan: (Step | string)[] = [];
      for (const { undoes, items } of typeof decisions === 'string' ? [] : decisions) {
        const changes: FileChange[] = [];
        let isLeft = false;
        for (const item of items) {
          const change = await planRemoving(project, item);
          isLeft ||= await wasInterrupted(project, item);
          if (change === 'kept') plan.push(`${item.file.path} stays, because it has been changed since.`);
          else if (change !== null) changes.push(change);
        }
        const carryOut = async () => {
          for (const item of items) await remove(project, item);
        };
        if (changes.length > 0 || isLeft) plan.push({ does: undoes, changes, carryOut });
      }
      return plan;
    },
  };
}

interface Inspected {
  state: ReturnType<OwnText['find']>['state'];
  why: string | null;
}

async function inspect({ file, own }: Item): Promise<Inspected> {
  const bytes = await readIfFile(file);
  const text = bytes === null ? null : decodeText(bytes);
  if (text === null) return { state: bytes === null ? 'missing' : 'kept', why: null };
  const { state, why } = own.find(text);
  return { state, why: why === undefined ? null : `${file.path} ${why}.` };
}

/** Files of one decision belong together; the user may have said no to another decision. */
function lookAt(groups: readonly (readonly Inspected[])[]): PartLook {
  const all = groups.flat();
  const damaged = all.find(({ state }) => state === 'damaged');
  if (damaged !== undefined) return { state: 'partly', why: damaged.why };
  const isPresent = ({ state }: Inspected) => state !== 'missing';
  if (groups.some((items) => items.some(isPresent) && !items.every(isPresent)))
    return { state: 'partly', why: 'Some of its files are missing.' };
  return { state: all.some(isPresent) ? 'set-up' : 'missing', why: null };
}

/** Returns null for a directory, or a link out of the repository: that is nothing of teddy's. */
function readIfFile(file: SetupFile): Promise<Uint8Array | null> {
  return file.read().catch((error: unknown) => {
    if (error instanceof TeddyError && error.code === 'FILES_IN_THE_WAY') return null;
    throw error;
  });
}

/** Returns null when there is nothing to add. Replaces a version that nobody has changed since teddy wrote it. */
async function planAdding({ setup, hash }: FileProject, { file, own, key }: Item): Promise<FileChange | null> {
  const before = await file.read();
  const text = before === null ? '' : decodeText(before);
  if (text === null)
    throw new TeddyError(
      'FILES_IN_THE_WAY',
      `${file.path} was not changed: it is not UTF-8.`,
      'Convert it, or move it away.',
    );
  const { state } = before === null ? { state: 'missing' } : own.find(text);
  const isOurs = before !== null && (await setup.read(key))?.['after'] === hash(before);
  if (state === 'whole' || (state === 'kept' && !isOurs)) return null;
  return { path: file.path, before, after: new TextEncoder().encode(own.add(text)) };
}

/** Notes first how to restore the file, because a crash may come at any time. */
async function add(project: FileProject, item: Item): Promise<void> {
  const { file, own, key } = item;
  const { before, after } = (await planAdding(project, item)) ?? { before: null, after: null };
  if (after === null) return;
  const known = findOriginal(before, await project.setup.read(key), project.hash);
  const text = before === null ? null : decodeText(before);
  const rest = text === null || own.find(text).state === 'missing' ? text : own.remove(text);
  const original = known === null ? (rest === null ? null : new TextEncoder().encode(rest)) : known.bytes;
  await project.setup.write(key, { ...toEditRecord(original, after, project.hash) });
  await file.clear();
  await file.write(after);
}

async function remove(project: FileProject, item: Item): Promise<void> {
  const change = await planRemoving(project, item);
  if (change === 'kept' || (change === null && !(await wasInterrupted(project, item)))) return;
  await item.file.clear();
  if (change !== null) await (change.after === null ? item.file.remove() : item.file.write(change.after));
  await project.setup.remove(item.key);
}

/** Returns true if a note says how to restore a file in which nothing is teddy's: it was about to be written, or is restored. */
async function wasInterrupted(project: FileProject, item: Item): Promise<boolean> {
  return (await planRemoving(project, item)) === null && (await project.setup.read(item.key)) !== null;
}

/** Returns null when there is nothing to remove; `kept` for a text that the user has changed. */
async function planRemoving(
  { setup, hash }: FileProject,
  { file, own, key, isShared }: Item,
): Promise<FileChange | 'kept' | null> {
  const before = await readIfFile(file);
  const text = before === null ? null : decodeText(before);
  if (before === null || text === null) return null;
  const record = await setup.read(key);
  if (isShared && record === null) return null;
  const original = findOriginal(before, record, hash);
  if (original !== null) return { path: file.path, before, after: original.bytes };
  if (own.find(text).state === 'missing') return null;
  // Without a record, as in another clone, a file with only teddy's text is one that teddy has made.
  if (text === own.add('')) return { path: file.path, before, after: null };
  const left = own.remove(text);
  return left === null ? 'kept' : { path: file.path, before, after: new TextEncoder().encode(left) };
}

function projectFile({ filesOf }: FileProject, root: string, path: RepoPath): SetupFile {
  const files = filesOf(root);
  return {
    path,
    async read() {
      const found = await files.inspect(path);
      if (found.kind === 'absent') return null;
      if (found.kind === 'file') return found.bytes;
      throw new TeddyError(
        'FILES_IN_THE_WAY',
        `${path} is not a file of this repository.`,
        'Move away what is there, and run `teddy init` again.',
      );
    },
    write: (bytes) => files.install(path, bytes),
    remove: () => files.remove(path),
    clear: () => files.removeLeftovers(path),
  };
}
