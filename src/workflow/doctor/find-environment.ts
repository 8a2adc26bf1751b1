/**
 * Checks the things that every command needs: an identity, room for the branches, and attributes that protect session
 * files.
 */
import { equalBytes } from '../../session/text/bytes.ts';
import { TeddyError } from '../../errors.ts';
import { editableFiles } from '../line/guard-session-files.ts';
import { findHeadLine } from '../line/find.ts';
import { noSessionsRemoteError } from '../../session/settings/decide-setting.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import type { Project } from '../../ports/project.ts';
import type { Workspace, Edit } from '../../ports/git.ts';
import type { RepoPath, Oid } from '../../names.ts';
import { remainsOf, type Examination, type Found } from './finding.ts';
import type { AgentSetup } from '../../ports/agent-setup.ts';

export const findEnvironment: Examination = async (scene) => ({
  found: [
    ...(await findIdentity(scene)),
    ...(await findBranch(scene)),
    ...(await findRemote(scene)),
    ...findAttributes(scene),
  ],
  seen: 'environment',
});

type Find = (scene: Parameters<Examination>[0]) => Promise<Found[]>;

const findIdentity: Find = async ({ project }) => {
  try {
    await project.repository.store.ident();
    return [];
  } catch (error) {
    if (!(error instanceof TeddyError) || error.code !== 'NO_IDENTITY') throw error;
    return [
      {
        kind: 'identity',
        thing: 'user.name, user.email',
        meaning: 'git does not know who you are, so teddy cannot write entries.',
        todo: error.hint ?? 'Set user.name and user.email with `git config`.',
      },
    ];
  }
};

const findBranch: Find = async ({ project }) => {
  if ((await project.repository.store.listRefs('refs/heads/teddy')).every(({ ref }) => ref !== 'refs/heads/teddy'))
    return [];
  return [
    {
      kind: 'branch-in-the-way',
      thing: 'refs/heads/teddy',
      meaning: 'A branch called `teddy` is in the way: git cannot create teddy/<session> while it exists.',
      todo: 'Rename it: `git branch -m teddy <other>`.',
    },
  ];
};

const findRemote: Find = async ({ project }) => {
  const { value, problem } = await project.settings.find('sessionsRemote');
  const names = value === null || problem !== null ? null : await project.repository.remotes.names();
  if (value === null || names === null || names.includes(value)) return [];
  const { message, hint = null } = noSessionsRemoteError(value, names);
  return [{ kind: 'unknown-remote', thing: 'teddy.sessionsRemote', meaning: message, todo: hint }];
};

/** Finds nothing before the first session, because there is nothing to protect. */
function findAttributes(scene: Parameters<Examination>[0]): Found[] {
  if (scene.refs.length === 0) return [];
  return remainsOf(scene, 'attributes').map(({ path }): Found => ({
    kind: 'attributes',
    thing: path,
    meaning: 'The rules that keep git from rewriting session files were changed.',
    fix: 'restores the marked block, and leaves all other lines alone',
    async repairFinding() {
      await scene.project.repository.installAttributes();
      return 'The block was restored.';
    },
  }));
}

/** Finds files in this work tree's `.teddy/` that differ from the line. */
export const findSessionFiles: Examination = async ({ project }) => {
  const line = await findHeadLine(project);
  const { workspace } = project.repository;
  if (line === null || line.tip === null || workspace === null) return { found: [], seen: null };
  // During a merge or rebase, git decides what the files contain.
  if ((await workspace.operationInProgress(line.ref)) !== null) return { found: [], seen: null };
  const status = await workspace.status({ untracked: false, path: '.teddy' as RepoPath });
  const editable = editableFiles(line.session);
  const found: Found[] = [];
  for (const edit of status.edits.filter(({ path }) => isSessionPath(path))) {
    found.push(...(await judge(project, workspace, line.tip, edit, editable)));
  }
  return { found, seen: 'session files' };
};

async function judge(
  { repository: { store } }: Project,
  workspace: Workspace,
  tip: Oid,
  { path, unstaged }: Edit,
  editable: RepoPath[],
): Promise<Found[]> {
  const published = await store.readFile(tip, path);
  const disk = unstaged === 'D' ? null : await workspace.readDisk(path);
  if (published === null || (disk !== null && equalBytes(disk, published.bytes))) return [];
  const found = { kind: 'session-file' as const, thing: path };
  if (disk === null) {
    return [
      {
        ...found,
        meaning: `${path} is on the branch but missing on disk.`,
        fix: 'writes it again, as the next command on the branch would',
        async repairFinding() {
          await workspace.writeSessionFile(path, published.bytes);
          return 'It was written again.';
        },
      },
    ];
  }
  if (editable.includes(path)) return [];
  return [
    {
      ...found,
      meaning: `${path} differs from the published version, and published files must never change.`,
      todo: `Restore it: \`git restore --source=HEAD --staged --worktree ${toShellWord(path)}\`.`,
    },
  ];
}

/** Hook calls that wait longer than this are late, because each call starts a drainer immediately. */
const lateAfterSeconds = 60;

export const findCapture: Examination = async ({ project, agents, findSilent }) => {
  const isSet = (await project.settings.find('capture')).value === 'true';
  const spool = await project.spool.look();
  if (!isSet && !spool.exists) return { found: [], seen: null };
  return {
    found: [
      ...(await findSpool(project, isSet)),
      ...(agents === null ? [] : await findHooks(agents)),
      ...((await findSilent?.()) ?? []).map((silent) =>
        toFound(
          'teddy.capture',
          `${silent}.`,
          'Run `teddy capture sweep` for what was missed, and `teddy capture install` for the hooks; then restart the agent.',
        ),
      ),
    ],
    seen: 'capture',
  };
};

async function findSpool({ spool, clock }: Project, isSet: boolean): Promise<Found[]> {
  const { exists, paused, drainer, waiting } = await spool.look();
  if (exists !== isSet)
    return [
      toFound(
        spool.dir,
        exists
          ? 'Hooks record their calls here, but teddy.capture is not set.'
          : 'teddy.capture is set, but the spool is missing, so hooks record nothing.',
        exists ? 'Run `teddy capture install` or `teddy capture uninstall`.' : 'Run `teddy capture install`.',
      ),
    ];
  const oldest = Math.min(...waiting.map((one) => one.oldest));
  if (drainer !== null || oldest > clock.now().getTime() / 1000 - lateAfterSeconds) return [];
  const meaning = `Calls that hooks recorded are waiting, and nothing is reading them${paused ? ': capture is paused' : ''}.`;
  return [toFound(spool.dir, meaning, paused ? 'Run `teddy capture resume`.' : 'Run `teddy capture sweep`.')];
}

async function findHooks(setup: AgentSetup): Promise<Found[]> {
  const [agents, script] = await Promise.all([setup.list(), setup.script()]);
  const installed = agents.filter(({ hooks }) => hooks === 'installed' || hooks === 'changed');
  if (installed.length === 0) return [];
  const isGone = script.state === 'missing' || script.state === 'broken';
  const meaning =
    script.state === 'missing'
      ? "The script that the agents' hooks run is missing, so nothing is captured."
      : "The program that the agents' hooks start no longer exists, so nothing reads what they record.";
  return [
    ...(isGone ? [toFound(script.path, meaning, 'Run `teddy capture install`.')] : []),
    ...installed.flatMap(({ title, path, hooks, trusted, problem }) => [
      ...(hooks === 'changed'
        ? [toFound(path, `Some hooks for ${title} are missing or were changed.`, 'Run `teddy capture install`.')]
        : []),
      ...(trusted === false
        ? [
            toFound(
              path,
              `${title} does not run the hooks until you trust them.`,
              'Start it, and answer `/hooks` once.',
            ),
          ]
        : []),
      ...(problem === null ? [] : [toFound(path, problem, 'Fix that in the file.')]),
    ]),
  ];
}

function toFound(thing: string, meaning: string, todo: string): Found {
  return { kind: 'capture', thing, meaning, todo };
}
