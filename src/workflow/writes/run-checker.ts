/** Runs the user's checkers: `git config 'teddy.validate.<glob>.command' '<shell command>'`. */
import { TeddyError } from '../../errors.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { RepoPath } from '../../names.ts';
import type { Finding } from '../../write/write.ts';

interface Checker {
  glob: string;
  command: string;
}

type RunChecker = (target: Uint8Array) => Promise<Finding[]>;

const prefix = 'teddy.validate.';
const suffix = '.command';
const defaultTimeoutS = 120;
/** The length to which a checker's output is cut. */
const maxSaidLength = 2000;

/**
 * Returns null when no checker is set for the path. Each checker runs in the work tree. The file `$TEDDY_FILE` contains
 * the content and has the target's name, but is outside the work tree; `$TEDDY_TARGET` is the target's path. When a
 * checker does not exit with 0, its output is a finding. Throws BAD_SETTING, ACTION_FAILED or INTERRUPTED.
 */
export async function findChecker(
  project: Project,
  { root }: Pick<Workspace, 'root'>,
  path: RepoPath,
  signal: AbortSignal = new AbortController().signal,
): Promise<RunChecker | null> {
  const checkers = await findCheckers(project, path);
  if (checkers.length === 0) return null;
  return async (target) => {
    const file = await project.scratch.write(path.slice(path.lastIndexOf('/') + 1), target);
    try {
      const findings: Finding[] = [];
      for (const checker of checkers) {
        findings.push(...(await runChecker(project, checker, { root, path, file: file.path, signal })));
      }
      return findings;
    } finally {
      await file.remove();
    }
  };
}

/** Lists the checkers in the order of git's configuration. */
export async function findCheckers({ repository }: Pick<Project, 'repository'>, path: RepoPath): Promise<Checker[]> {
  const settings = await repository.store.settings(prefix);
  const checkers = settings.flatMap(({ key, value }) => {
    const isChecker = key.endsWith(suffix) && key.length > prefix.length + suffix.length;
    return isChecker ? [{ glob: key.slice(prefix.length, -suffix.length), command: value }] : [];
  });
  if (checkers.length === 0) return [];
  const { compileGlob } = await import('../../session/paths/context-glob.ts');
  return checkers.filter(({ glob, command }) => {
    const matches = compileGlob(glob);
    if (typeof matches !== 'function') {
      const key = `${prefix}${glob}${suffix}`;
      throw new TeddyError(
        'BAD_SETTING',
        `The glob in ${key} cannot be used: ${matches.problem}.`,
        `Remove it with \`git config --unset ${JSON.stringify(key)}\`, and set it with another glob.`,
      );
    }
    return command.trim() !== '' && matches(path);
  });
}

async function runChecker(
  project: Project,
  { command }: Checker,
  { root, path, file, signal }: { root: string; path: RepoPath; file: string; signal: AbortSignal },
): Promise<Finding[]> {
  const timeoutMs = Number((await project.settings.get('timeout')) ?? defaultTimeoutS) * 1000;
  const env = { TEDDY_FILE: file, TEDDY_TARGET: path };
  const result = await project.shellOf(root).run(command, { cwd: '.', env, timeoutMs, signal });
  if (result.aborted) throw new TeddyError('INTERRUPTED', `The check of ${path} was interrupted.`);
  if (result.exitCode === 0) return [];
  const output = [result.stdout, result.stderr].map((text) => text.trim()).filter((text) => text !== '');
  // The temporary file means nothing to the writer. Masks the output before cutting it, because teddy would not
  // recognize half a secret.
  const { text } = await project.masker.mask(output.join('\n').replaceAll(file, path));
  const cut = text === '' ? '.' : `: ${text.length > maxSaidLength ? `${text.slice(0, maxSaidLength)}…` : text}`;
  const failure = result.timedOut ? `did not finish within ${timeoutMs / 1000} s` : `exited with ${result.exitCode}`;
  const masked = await project.masker.mask(command);
  return [{ check: 'checker', message: `\`${masked.text}\` ${failure}${cut}` }];
}
