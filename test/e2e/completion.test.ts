/** `teddy completion`, asked by the shells that this machine has. */
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hasTerminal, runInTerminal } from '../support/run-in-terminal.ts';
import { teddyPath } from '../support/run-teddy.ts';
import { openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let session: string;
let path: string;

beforeAll(async () => {
  project = await openTeddyProject();
  session = await project.begin('add-a');
  const programs = join(project.repo.root, '.git', 'programs');
  mkdirSync(programs);
  chmodSync(teddyPath, 0o755);
  symlinkSync(teddyPath, join(programs, 'teddy'));
  path = `${programs}:${process.env['PATH']}`;
});
afterAll(() => project.close());

function runShell(shell: string, script: string): Promise<{ stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const options = { cwd: project.repo.root, env: { ...process.env, PATH: path } };
    execFile(shell, ['-c', script], options, (_error, stdout, stderr) => resolve({ stdout, stderr }));
  });
}

function hasShell(shell: string): boolean {
  try {
    execFileSync(shell, ['-c', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Asks bash for its offers after these words. */
async function askBash(words: string[]): Promise<string[]> {
  const script = `source <(teddy completion bash); source <(teddy completion bash)
compopt() { :; }
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}) COMP_CWORD=${words.length - 1}
__teddy_complete
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = await runShell('bash', script);
  expect(stderr).toBe('');
  return stdout.split('\n').filter((line) => line !== '');
}

test('bash completes commands, options and session names, and may load the script twice', async () => {
  expect(await askBash(['teddy', 'sess'])).toEqual(['session']);
  expect(await askBash(['teddy', 'session', 'pl'])).toEqual(['plan']);
  expect(await askBash(['teddy', 'session', 'land', '--on'])).toEqual(['--onto']);
  expect(await askBash(['teddy', 'pl'])).toEqual(['plan']);
  expect(await askBash(['teddy', 'land', '--on'])).toEqual(['--onto']);
  expect(await askBash(['teddy', 'session', 'land', ''])).toEqual([session]);
  expect(await askBash(['teddy', 'session', 'plan', '--session', ''])).toEqual([session]);
  expect(await askBash(['teddy', 'session', 'plan', '-s', session.slice(0, 3)])).toEqual([session]);
  expect(await askBash(['teddy', 'completion', 'f'])).toEqual(['fish']);
});

const gitCompletion = '/usr/share/bash-completion/completions/git';

test.runIf(hasTerminal && existsSync(gitCompletion))(
  'a bash at a terminal completes files, and git teddy',
  async () => {
    const run = runInTerminal([], {
      cwd: project.repo.root,
      env: { PATH: path, PS1: 'bash> ', HISTFILE: '/dev/null', INPUTRC: '/dev/null' },
      through: 'exec bash --norc --noprofile -i #',
    });
    await project.repo.write('answer-of-mine.md', 'text\n');
    const press = async (keys: string, shown: string) => {
      await run.play(['bash> ', keys], [shown, '\u0015\n']);
    };
    try {
      await press(`source <(teddy completion bash); source ${gitCompletion}; echo lo''aded\n`, 'loaded');
      await run.waitFor('bash> ');
      await press('teddy plan --from answ\t', 'answer-of-mine.md ');
      await press('teddy import answ\t', 'answer-of-mine.md ');
      await press('git teddy statu\t', 'git teddy status ');
      await press('git -C . teddy session pl\t', 'git -C . teddy session plan ');
      await press(`git teddy land ${session.slice(0, 3)}\t`, `${session} `);
      await press('git teddy plan --from answ\t', 'answer-of-mine.md ');
      await run.play(['bash> ', 'exit\n']);
      expect(await run.exitCode).toBe(0);
    } finally {
      await run.close();
    }
  },
);

test('bash runs nothing of what is typed, and writes to no file', async () => {
  await project.repo.write('kept.txt', 'kept\n');
  for (const word of ['$(touch made)', '`touch made`', '"$(touch made)"', ';touch made', '> kept.txt'])
    await askBash(['teddy', 'session', 'plan', '-m', ...word.split(' '), '--fr']);
  await askBash(['teddy', 'session', 'review', '>', 'kept.txt', '-']);
  await askBash(['teddy', 'session', 'plan', '-m', '$(touch made)', '']);
  expect(await project.repo.read('kept.txt')).toBe('kept\n');
  expect(await project.repo.list('.')).not.toContain('made');
});

test.for(['zsh', 'fish'])('%s loads its script', async (shell, context) => {
  if (!hasShell(shell)) return context.skip(`${shell} is not on this machine`);
  const load =
    shell === 'zsh'
      ? 'autoload -U compinit && compinit -D && source <(teddy completion zsh)'
      : 'teddy completion fish | source';
  expect(await runShell(shell, `${load}; echo loaded`)).toEqual({ stdout: 'loaded\n', stderr: '' });
});
