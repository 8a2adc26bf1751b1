import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let home: string;

beforeEach(async () => {
  project = await openTeddyProject();
  await project.begin('add-login');
  await project.plan('It is done.', 'Add a login');
  home = await mkdtemp(join(tmpdir(), 'open-with-'));
});
afterEach(async () => {
  await rm(home, { recursive: true });
  await project.close();
});

/** No agent can be found there. */
const gitPath = execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim();
const open = (...args: string[]) => project.run(['session', 'resume', ...args], { env: { HOME: home, PATH: gitPath } });

describe('teddy resume --with', () => {
  test('prints the command that resumes the session, and says so when the agent is missing', async () => {
    const { exitCode, stdout, stderr } = await open('add-login', '--with', 'claude-code');
    expect(exitCode).toBe(0);
    const [path] = await logs();
    const id = /([^/]+)\.jsonl$/.exec(path ?? '')?.[1];
    expect(stdout).toBe(`claude --resume ${id}\n`);
    expect(stderr).toContain('Wrote 1 turn of ');
    expect(stderr).toContain('install claude-code first');
    expect(stderr).not.toContain('claude --resume');
    expect(await readFile(path ?? '', 'utf8')).toContain('It is done.');
    await rm(path ?? '');
    // With -s, HEAD stays where it is.
    await project.repo.git('switch', '--quiet', 'main');
    const shown = JSON.parse((await open('-s', 'add-login:01', '--with', 'codex', '--json')).stdout) as { id: string };
    expect(await project.repo.git('branch', '--show-current')).toBe('main');
    await project.repo.git('switch', '--quiet', '-');
    expect(shown).toMatchObject({
      schema: 'teddy.session-open/1',
      agent: 'codex',
      turn: '01',
      turns: 1,
      path: (await logs())[0],
      isInstalled: false,
      command: `codex resume ${shown.id}`,
    });
    // A plan stays with teddy, and a bare repository has no files to go to.
    await project.plan(createPlan('a.txt', 'a\n'));
    const bare = join(home, 'bare.git');
    await project.repo.git('clone', '--quiet', '--bare', '.', bare);
    const there = await project.run(['resume', 'add-login', '--with', 'codex'], { cwd: bare, env: { HOME: home } });
    expect(there).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^codex resume \S+\n$/) as string });
    expect(there.stderr).toContain('The plan of turn 02 has not been executed. It stays pending here; Codex only');
  });
});

async function logs(): Promise<string[]> {
  const names = await readdir(home, { recursive: true });
  return names.filter((name) => name.endsWith('.jsonl')).map((name) => join(home, name));
}
