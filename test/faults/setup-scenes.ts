/** A repository with a user's own files, before `teddy init`, and before its removal. */
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readFile, readdir, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { runTeddy, teddyPath } from '../support/run-teddy.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { buildChild } from './build-child.ts';
import { copiesIn, type Copies, type Scene } from './scenes.ts';
import { countOf, killAt } from './fault.ts';
import { emptyTally, everyNth, readPoints, report, sweepWith, wasKilledOrDone, type Job, type Tally } from './sweep.ts';
import { environmentIn } from './setup-environment.ts';

export const setupNames = ['init', 'init-remove'] as const;
type SetupName = (typeof setupNames)[number];

export interface SetupStage extends Copies {
  scenes: Record<SetupName, Scene>;
  /** The user's files, with modes, in the repository and at home. */
  before: Files;
  after: Files;
}

type Files = Record<string, string>;

/** Some end without a newline, or with another one, and some of the files that teddy writes are not there. */
const own: Files = {
  'AGENTS.md': '# Agents\r\n\r\nUse tabs.',
  '.mcp.json': '{\n\t"mcpServers": { "other": {"command": "other"} }\n}',
  '.git/hooks/pre-push': '#!/bin/sh\necho mine\n',
  '.git/info/attributes': '# mine\n*.big -diff',
  '.git/home/.claude/settings.json': '{ "theme": "dark",\n  "hooks": {"Stop": []} }',
  '.git/home/.codex/config.toml': 'model = "o3"',
  '.git/home/.config/opencode/opencode.json': '{}\n',
};

export async function openSetupStage(): Promise<SetupStage> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'teddy-setup-faults-')));
  const program = await buildChild(dir);
  const repository = await makeScratchRepository();
  for (const [path, content] of Object.entries(own)) {
    await mkdir(dirname(join(repository.root, path)), { recursive: true });
    await writeFile(join(repository.root, path), content);
  }
  await chmod(join(repository.root, '.git/hooks/pre-push'), 0o755);
  await chmod(join(repository.root, '.git/home/.claude/settings.json'), 0o600);
  await repository.git('remote', 'add', 'origin', 'https://github.com/ada/shop.git');
  const template = join(dir, 'template');
  await cp(repository.root, template, { recursive: true, preserveTimestamps: true });
  await repository.close();
  const toScene = (name: SetupName): Scene => {
    return { name, operation: name, template, ref: null, oldTip: '', entries: [], status: [] };
  };
  const copies = copiesIn(dir, program);
  const stage: SetupStage = {
    ...copies,
    scenes: { init: toScene('init'), 'init-remove': toScene('init-remove') },
    before: {},
    after: {},
    async copy(scene, into) {
      const copy = await copies.copy(scene, into);
      // A repository's path is in the notes of how to restore its files.
      const failed = scene.name === 'init' ? [] : await carryOut(copy, false);
      if (failed.length > 0) throw new Error(`It fails by itself: ${failed.join(' ')}`);
      return copy;
    },
  };
  stage.before = await readFiles(await stage.copy(stage.scenes.init));
  stage.after = await readFiles(await stage.copy(stage.scenes['init-remove']));
  return stage;
}

const config = '.git/config';
const sortLines = (text = '') => text.split('\n').toSorted().join('\n');

/** Each file with its mode and content, and the refs; without those that only teddy and git read, such as records and objects. */
async function readFiles({ root, git }: ScratchRepository): Promise<Files> {
  const found: Files = { refs: await git('for-each-ref', '--format=%(refname)') };
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(root.length + 1);
    if (/^\.git\/(?:objects|logs|refs|teddy|index|COMMIT_EDITMSG|home\/\.local\/share\/teddy\/installed)/.test(name))
      continue;
    const { mode } = await stat(path);
    // The copies have their own paths.
    found[name] = `${(mode & 0o777).toString(8)} ${(await readFile(path, 'latin1')).replaceAll(root, '/root')}`;
  }
  return found;
}

/** Runs it undisturbed; returns one sentence for each fault. */
async function carryOut({ root }: ScratchRepository, isRemoval: boolean): Promise<string[]> {
  const words = ['init', '--yes', ...(isRemoval ? ['--remove'] : [])];
  const { exitCode, stderr } = await runTeddy(words, { cwd: root, env: environmentIn(root), isRacing: true });
  return exitCode === 0 ? [] : [`exit ${exitCode}: ${stderr}`];
}

/** Kills it before each `stride`-th change of a file or start of a git, and checks what follows. */
export async function killSetups(stage: SetupStage, name: SetupName, stride: number): Promise<Tally> {
  const scene = stage.scenes[name];
  const { points } = await readPoints(stage, scene, teddyPath);
  const toJobs = (at: 'call' | 'git', isOfInterest: RegExp) =>
    points[at].flatMap((point, index): Job[] => {
      const fault = killAt(point, countOf(points[at].slice(0, index + 1), point), at);
      return isOfInterest.test(point) ? [{ scene, name: teddyPath, fault }] : [];
    });
  const all = [
    ...toJobs('call', /^(?:rename|link|unlink|writeFile|chmod|open|mkdir|rm|rmdir) /),
    ...toJobs('git', /./),
  ];
  const jobs = everyNth(all.length, stride).map((at) => all[at - 1] as Job);
  const tally = emptyTally();
  await sweepWith(stage, jobs, tally, wasKilledOrDone, (_, repository) => checkSetup(stage, repository));
  report(`SIGKILL of ${name} at ${jobs.length} of ${all.length} places`, tally);
  return tally;
}

/**
 * Returns the faults after an interruption: of `init` again and the removal after it, and of the removal right after
 * the interruption.
 */
async function checkSetup(stage: SetupStage, repository: ScratchRepository): Promise<string[]> {
  const { root } = repository;
  const interrupted = `${root}-interrupted`;
  const problems: string[] = [];
  const perform = async (when: string, isRemoval: boolean, wanted: Files) => {
    problems.push(...(await carryOut(repository, isRemoval)).map((failure) => `${when}: ${failure}`));
    const found = await readFiles(repository);
    // Settings that are set again may be in another order.
    const isSame = (name: string) =>
      isRemoval || name !== config ? found[name] === wanted[name] : sortLines(found[name]) === sortLines(wanted[name]);
    // A half-written file that a killed removal left is removed by the next removal.
    const isUnfinished = (name: string) => !isRemoval && /\.tmp$|\/?\.teddy-tmp-[0-9a-f]{16}$/.test(name);
    for (const name of new Set([...Object.keys(wanted), ...Object.keys(found)].filter((one) => !isUnfinished(one))))
      if (!isSame(name))
        problems.push(`${when}: ${name} is ${JSON.stringify(found[name])} instead of ${JSON.stringify(wanted[name])}`);
  };
  await promisify(execFile)('cp', ['-a', root, interrupted]);
  await perform('init again', false, stage.after);
  await perform('the removal after it', true, stage.before);
  // Its path is in the notes.
  await rm(root, { recursive: true });
  await rename(interrupted, root);
  await perform('the removal at once', true, stage.before);
  await repository.fsck().catch((error: Error) => problems.push(error.message));
  return problems;
}
