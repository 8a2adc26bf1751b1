/**
 * Runs teddy's suggestions: every command in a `hint:` or a `Next:` that an end-to-end test sees is run once, in a copy
 * of the repository where it was printed. A command that is refused there is a defect in the hint.
 */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { runHere } from './run-here.ts';
import { readWords } from './shell-words.ts';

const execute = promisify(execFile);

export interface PrintedHint {
  /** Commands in order; each alternative separately. */
  alternatives: string[][];
  text: string;
}

/** Lines that name a next step, and the commands in them. */
export function findHints(output: string): PrintedHint[] {
  return output.split('\n').flatMap((line) => {
    const hint = /^hint: {2}(.*)$/.exec(line)?.[1];
    const next =
      /^(?:Next|Next, when .*?|Then, .*?|Back|To bring it back|To work on it|To .*?| {2}or): ((?:teddy|git|cd) .*)$/.exec(
        line,
      )?.[1];
    if (hint !== undefined) return [{ text: line, alternatives: splitHint(hint) }];
    // A bare command may be followed by the way to do something else.
    if (next !== undefined)
      return [{ text: line, alternatives: [[next.split(/,? (?:or to talk|goes on)\b/)[0] ?? next]] }];
    return [];
  });
}

function splitHint(hint: string): string[][] {
  const alternatives: string[][] = [[]];
  let end = 0;
  for (const found of hint.matchAll(/`([^`]+)`/g)) {
    const between = hint.slice(end, found.index);
    end = found.index + found[0].length;
    if (!/^(?:teddy|git|cd) /.test(found[1] ?? '')) continue;
    // Only parts joined by a comma or `then` are one way.
    const goesOn = /^(?:, (?:then )?|; then |:? *then )$/.test(between);
    if (!goesOn && (alternatives.at(-1)?.length ?? 0) > 0) alternatives.push([]);
    alternatives.at(-1)?.push(found[1] ?? '');
  }
  return alternatives.filter((commands) => commands.length > 0);
}

/** Commands that need a terminal, or never end on their own. */
const interactive = /^teddy (?:(?:session )?chat|serve|write recover(?: \S+)?$)|--edit\b/;
/**
 * A server outside the copy; a guide for a person; the ambiguous name of a command that may be refused; a command for a
 * person, printed to an agent.
 */
const notForCopies = /--server |^hint: {2}(?:A person approves|By hand|The newest is|Did you mean|Say what you want)/;
/** Not approved without a terminal; no model, or none that answers: the command itself was correct. */
const accepted = new Set([0, 4, 5]);
/** The command has finished its check, and reports its findings or an action's result. */
const mayFind = /^teddy (?:(?:session )?(?:verify|replay|execute|resume|show|sync|pull|push)|doctor|write)\b/;

export interface CheckedHint {
  command: string;
  exitCode: number;
  stderr: string;
}

/** Runs the commands in the output, once for texts that differ only in names. Throws if a command is refused. */
export async function checkHints(
  teddyPath: string,
  { cwd, env, output }: { cwd: string; env: Record<string, string>; output: string },
): Promise<void> {
  const seen = process.env['HINTS_SEEN_DIR'];
  if (seen === undefined || !existsSync(cwd)) return;
  await mkdir(seen, { recursive: true });
  for (const { text, alternatives } of findHints(output)) {
    if (notForCopies.test(text)) continue;
    if (!(await isFirst(seen, text))) continue;
    for (const commands of alternatives) {
      const failure = await tryCommands(teddyPath, { cwd, env, commands });
      await appendFile(join(seen, failure === null ? 'run.log' : 'failed.log'), `${text}\n  ${failure ?? 'ran'}\n`);
      if (failure !== null) throw new Error(`A hint does not work as printed.\n${text}\n${failure}`);
    }
  }
}

/** The same hint with another id, date or path counts as the same. */
async function isFirst(seen: string, text: string): Promise<boolean> {
  const shape = text
    .replace(/[0-9a-f]{7,64}/g, '#')
    .replace(/\d{8}-[a-z0-9-]+/g, '#')
    .replace(/\/tmp\/[^\s`'"]+/g, '/#')
    .replace(/\d+/g, '#');
  const key = createHash('sha256').update(shape).digest('hex').slice(0, 24);
  return writeFile(join(seen, key), text, { flag: 'wx' }).then(
    () => true,
    () => false,
  );
}

/** Null if they work, or need a terminal. */
export async function tryCommands(
  teddyPath: string,
  { cwd, env, commands }: { cwd: string; env: Record<string, string>; commands: string[] },
): Promise<string | null> {
  if (commands.some((command) => interactive.test(command) || /<[a-z]/.test(command))) return null;
  const copy = await copyRepository(cwd);
  if (copy === null) return null;
  try {
    const bin = join(copy.directory, 'bin');
    await mkdir(bin);
    await writeFile(join(bin, 'teddy'), `#!/bin/sh\nexec '${process.execPath}' '${teddyPath}' "$@"\n`, { mode: 0o755 });
    // A hint may configure only the copy.
    const settings = join(env['HOME'] ?? '', '.gitconfig');
    if (existsSync(settings)) await cp(settings, join(copy.directory, '.gitconfig'));
    for (const command of commands) {
      const local = command.replaceAll(new RegExp(`${copy.root}(?=$|[/\\s'"])`, 'g'), copy.copied);
      // A copied scene names the work tree that it was copied from, and would change that one, from which others copy.
      if (local.startsWith('cd /') && !local.includes(copy.copied)) return null;
      const { exitCode, stderr } = await run(local, copy.cwd, {
        ...withoutModel(env),
        GIT_EDITOR: 'true',
        EDITOR: 'true',
        HOME: copy.directory,
        PATH: `${bin}:${env['PATH'] ?? ''}`,
      });
      const isFine = accepted.has(exitCode) || (exitCode === 1 && mayFind.test(command));
      // A run's journal names the work tree that was copied.
      if (!isFine && !stderr.includes('[NO_INTERRUPTED_RUN]'))
        return `${command}: exit code ${exitCode}: ${stderr.trim()}`;
    }
    return null;
  } finally {
    await rm(copy.directory, { recursive: true, force: true });
  }
}

/** With copies of the remotes beside it; null for anything but a repository, and for a linked work tree. */
async function copyRepository(
  cwd: string,
): Promise<{ directory: string; root: string; copied: string; cwd: string } | null> {
  const top = findTop(cwd);
  if (top === null || !existsSync(join(top, '.git', 'objects')) || existsSync(join(top, '.git', 'worktrees')))
    return null;
  const directory = await mkdtemp(join(tmpdir(), 'teddy-hint-'));
  const copied = join(directory, 'copy');
  try {
    await execute('cp', ['-a', top, copied]);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    // Another command is running there, and files that it removes meanwhile cannot be copied.
    if (String(error).includes('No such file or directory')) return null;
    throw error;
  }
  const config = await readFile(join(copied, '.git', 'config'), 'utf8');
  const remotes = config.includes('[remote')
    ? await execute('git', ['config', '--get-regexp', '^remote\\..*\\.url$'], { cwd: copied })
    : { stdout: '' };
  for (const [at, row] of remotes.stdout.trim().split('\n').entries()) {
    const [key = '', url = ''] = row.split(' ');
    if (!url.startsWith('/') || !existsSync(url)) continue;
    const place = join(directory, `remote-${at}`);
    await cp(url, place, { recursive: true });
    await execute('git', ['config', key, place], { cwd: copied });
  }
  return { directory, root: top, copied, cwd: join(copied, relative(top, cwd)) };
}

/** The surrounding work tree. */
function findTop(cwd: string): string | null {
  if (cwd.split(sep).includes('.git')) return existsSync(join(cwd, '.git')) ? cwd : null;
  if (existsSync(join(cwd, '.git'))) return cwd;
  return dirname(cwd) === cwd ? null : findTop(dirname(cwd));
}

/** A test model's answers are for the test. */
function withoutModel(env: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([key]) => !key.startsWith('OPENAI_')));
}

/** In this process, if no shell is needed. */
function run(command: string, cwd: string, env: Record<string, string>): Promise<{ exitCode: number; stderr: string }> {
  const [program, ...words] = readWords(command) ?? [];
  return program === 'teddy' ? runHere({ words, cwd, env }) : runInShell(command, cwd, env);
}

/** In its own process group, which ends with it: starting an endless command is enough. */
function runInShell(
  command: string,
  cwd: string,
  env: Record<string, string>,
): Promise<{ exitCode: number; stderr: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', command], {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
    const timer = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), 20_000);
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ exitCode: code ?? 0, stderr });
    });
  });
}
