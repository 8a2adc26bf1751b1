/** From nothing to a captured session: `teddy init` at a terminal, a real agent's turn, and everything taken away again. */
import { chmod, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { agents } from '../../src/agents/agents.ts';
import { openCapturedProject, type CapturedProject } from '../support/captured-project.ts';
import { requireAgent } from '../support/real-agent.ts';
import { runInTerminal } from '../support/run-in-terminal.ts';
import { teddyPath } from '../support/run-teddy.ts';

const agent = requireAgent();
let project: CapturedProject;
let PATH: string;

beforeEach(async () => {
  project = await openCapturedProject(agent, { hooks: false });
  const bin = join(project.home, 'bin');
  PATH = `${bin}:${process.env['PATH']}`;
  await put(join(bin, 'teddy'), `#!/bin/sh\nexec '${process.execPath}' '${teddyPath}' "$@"\n`);
  await put(join(bin, agents[agent.name].program), `#!/bin/sh\nexec '${process.env['AGENT_PROGRAM']}' "$@"\n`);
  await project.repo.commit({
    'AGENTS.md': '# Agents',
    'CLAUDE.md': '# Claude\r\n',
    '.mcp.json': '{ "mcpServers": {} }',
  });
  await put(join(project.repo.root, '.git/hooks/pre-push'), '#!/bin/sh\n');
  await put(join(project.home, '.claude/settings.json'), '{"permissions": {"deny": []},\n\t"hooks": {} }');
  await project.repo.git('remote', 'add', 'origin', 'https://github.com/ada/shop.git');
});
afterEach(() => project.close());

async function put(path: string, content: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, content);
  await chmod(path, 0o755);
}

/** Takes the default answer to each question. */
async function acceptAll(...words: string[]): Promise<string> {
  const env = { HOME: project.home, PATH, XDG_DATA_HOME: undefined, XDG_CONFIG_HOME: undefined };
  const run = runInTerminal(words, { cwd: project.repo.root, env, timeoutMs: 60_000 });
  let answered = 0;
  const timer = setInterval(() => {
    const asked = run.text().match(/\[(?:Y\/n|y\/N)\] /g)?.length ?? 0;
    for (; answered < asked; answered += 1) run.press('\r');
  }, 10);
  expect(await run.exitCode).toBe(0);
  clearInterval(timer);
  return run.text();
}

/** The files that `teddy init` may change, with their contents. */
async function files(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [root, own] of [
    [
      project.home,
      /^\.(?:claude\/(?:settings|skills)|codex\/(?:config\.toml|hooks)|copilot\/hooks|local\/(?!(?:share|state)\/opencode\/))/,
    ],
    [project.repo.root, /^(?!\.git\/)|^\.git\/(?:config|hooks\/)/],
  ] as const) {
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((one) => one.isFile())) {
      const path = join(entry.parentPath, entry.name);
      if (own.test(path.slice(root.length + 1))) found[path] = await readFile(path, 'latin1');
    }
  }
  return found;
}

describe(`teddy init, with ${agent.name} ${agent.version}`, () => {
  test('captures its next turn, without a warning, and --remove restores each file', async () => {
    const before = await files();
    expect(await acceptAll('init')).toContain('capture  done: ');
    const setUp = await files();
    // A model takes seconds for an answer; with less, the user's edits before it and the agent's own could not be told apart.
    const says = 'say-01 I write it into a file of its own.';
    project.model.script('K1', [{ says, runs: 'echo new > made.txt', chunkDelayMs: 150 }, { says: 'say-02 Written.' }]);
    const { exitCode } = await project.run({ prompt: 'K1 ask-01 Write it.', env: { PATH } }).result;
    expect(exitCode).toBe(0);
    await project.settle();
    expect(await project.expectAllOnce()).toEqual(['ask-01', 'say-01', 'say-02']);

    const [global = '', line = ''] = (await project.lines()).sort((one) => (one.endsWith('/global') ? -1 : 1));
    expect([global, line]).toEqual(['refs/heads/teddy/global', expect.stringContaining(`-${agent.name}-`)]);
    const session = line.slice('refs/heads/teddy/'.length);
    expect((await project.teddy('list')).stdout).toContain(`${session}  1 turn `);
    const log = (await project.teddy('log', '-s', session)).stdout;
    expect(log).toContain('turn 01 message: K1 ask-01 Write it.');
    expect(log).toContain(`turn 01 snapshot: 1 file changed by ${agent.name}`);
    expect((await project.teddy('why', 'made.txt:1')).stdout).toMatch(/^Asked {5}by .*\n +K1 ask-01 Write it\.$/m);
    const status = (await project.teddy('status')).stdout;
    expect(status).toContain(`Captured: teddy/${session}, turn 01`);
    expect(status).not.toContain('unknown kind');

    const after = await files();
    const made = Object.keys(after).filter((path) => !Object.hasOwn(setUp, path));
    expect(made).toEqual([join(project.repo.root, 'made.txt')]);
    await project.repo.git('clean', '-q', '-f', 'made.txt');
    await acceptAll('init', '--remove');
    expect(await files()).toEqual(before);
  });
});
