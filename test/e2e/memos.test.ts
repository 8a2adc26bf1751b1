/** Memos and what else all sessions share: the commands, their races, and what the next request says. */
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAction, openTeddyProject, planOf, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

beforeEach(async () => {
  project = await openTeddyProject();
});

afterEach(() => project.close());

const stored = () => project.repo.git('show', 'teddy/global:memos.yaml');
const request = (session: string) => project.ok('session', 'plan', '-s', session, '-m', 'x', '--dry-run');

function planWithMemo(fact: string): string {
  return `# Say\n\n## Memos\n- [+] ${fact}\n\n## Action Plan\n\n${createAction('a.txt', 'a\n')}`;
}

/** `$1` of the script is the file that is edited. */
async function editor(script: string): Promise<Record<string, string>> {
  const path = join(project.repo.root, '.git', 'edit.sh');
  await project.repo.write('.git/edit.sh', `#!/bin/sh\nset -e\n${script}\n`);
  await chmod(path, 0o755);
  return { GIT_EDITOR: path };
}

describe('teddy memo', () => {
  test('adds, lists and removes facts; what is there or is not is said', async () => {
    expect(await project.ok('memo', 'add', '  Use pnpm: always \n')).toBe('Remembered: Use pnpm: always\n');
    expect(await project.ok('memo', 'add', 'Use pnpm: always')).toBe('Already a memo: Use pnpm: always\n');
    await project.ok('memo', 'add', 'Two\nlines');
    await project.ok('memo', 'add', '--', '-O2 breaks it');
    expect(await project.ok('memo', 'list')).toBe('1  Use pnpm: always\n2  Two\n   lines\n3  -O2 breaks it\n');
    expect(JSON.parse(await project.ok('memo', 'list', '--json'))).toEqual({
      schema: 'teddy.memo-list/1',
      memos: ['Use pnpm: always', 'Two\nlines', '-O2 breaks it'],
      proposed: [],
    });
    expect(await project.ok('memo', 'remove', '2')).toBe('Forgotten: Two\nlines\n');
    expect(await project.ok('memo', 'remove', 'Use pnpm: always')).toBe('Forgotten: Use pnpm: always\n');
    expect(await stored()).toBe('- -O2 breaks it');
    for (const wanted of ['2', '0', 'Use pnpm']) await project.refuses('UNKNOWN_MEMO', 2, ['memo', 'remove', wanted]);
    await project.refuses('USAGE', 2, ['memo', 'add', ' \n']);
  });

  test('keeps comments and order, and no branch but teddy/global and no file moves', async () => {
    const session = await project.begin('quiet');
    await project.repo.write('.teddy/memos.yaml', '# Tools\n- pnpm # since May\n\n# Style\n- tabs\n');
    await project.plan(planOf(createAction('a.txt', 'a\n')));
    const before = await project.repo.fingerprint();
    await project.ok('memo', 'add', 'small steps');
    await project.ok('memo', 'remove', 'tabs');
    expect(await stored()).toBe('# Tools\n- pnpm # since May\n\n# Style\n- small steps');
    const after = await project.repo.fingerprint();
    const others = (refs: string[]) => refs.filter((ref) => !ref.includes('teddy/global'));
    expect({ ...after, refs: others(after.refs) }).toEqual({ ...before, refs: others(before.refs) });
    await project.ok('session', 'execute', '-y');
    await project.plan(planOf(createAction('b.txt', 'b\n')), 'next');
    expect(await project.repo.read('.teddy/memos.yaml')).toContain('- small steps');
    expect(await project.repo.git('show', `teddy/${session}:.teddy/memos.yaml`)).toBe(await stored());
  });

  test('of four commands that add at once none is lost', async () => {
    await project.ok('init');
    const facts = Array.from({ length: 4 }, (_, at) => `Fact number ${at}`);
    await Promise.all(facts.map((fact) => project.ok('memo', 'add', fact)));
    const { memos } = JSON.parse(await project.ok('memo', 'list', '--json')) as { memos: string[] };
    expect(memos.toSorted()).toEqual(facts);
  });

  test('what an editor draws is no result, and a mistake in the list is placed once', async () => {
    const drawing = { env: await editor('echo drawn; printf -- "- tabs\\n" >"$1"'), asProcess: true };
    const saved = await project.run(['global', 'edit', 'memos.yaml', '--json'], drawing);
    expect(JSON.parse(saved.stdout)).toMatchObject({ schema: 'teddy.global-edit/1', file: 'memos.yaml' });
    expect(saved.stderr).toContain('drawn');
    const wrong = await project.refuses('VALIDATION_FAILED', 1, ['global', 'edit', 'memos.yaml'], {
      env: await editor('echo "key: value: x" >"$1"'),
    });
    expect(wrong).toMatch(/^error: memos\.yaml, line 1: [^:]*compact mappings \[VALIDATION_FAILED\]$/m);
  });
});

describe('a memo of one session', () => {
  test('is in the next request of another, by command and by plan', async () => {
    const first = await project.begin('first');
    const second = await project.begin('second', '--no-switch');
    await project.ok('memo', 'add', 'By command.');
    expect(await request(second)).toContain('- By command.');
    await project.plan(planWithMemo('By plan.'));
    await project.ok('session', 'execute', '-y', '--memos=yes');
    expect(await request(second)).toContain('- By command.\n- By plan.');
    expect(await request(first)).toContain('- By plan.');
  });
});

describe('teddy global edit memos.yaml', () => {
  test('saves what the editor leaves; nothing changed is no commit', async () => {
    await project.ok('memo', 'add', 'tabs');
    const env = await editor('printf "# Ours\\n- spaces" > "$1"');
    const { exitCode, stdout } = await project.run(['global', 'edit', 'memos.yaml'], { env });
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(/^Saved memos\.yaml on teddy\/global as [0-9a-f]{10}\.\n$/),
    });
    expect(await stored()).toBe('# Ours\n- spaces');
    const tip = await project.repo.git('rev-parse', 'teddy/global');
    const again = await project.run(['global', 'edit', 'memos.yaml', '--json'], { env: await editor('true') });
    expect(JSON.parse(again.stdout)).toEqual({
      schema: 'teddy.global-edit/1',
      file: 'memos.yaml',
      commit: null,
      removed: false,
    });
    expect(await project.repo.git('rev-parse', 'teddy/global')).toBe(tip);
  });

  test('that the editor fails changes nothing', async () => {
    await project.ok('memo', 'add', 'tabs');
    await project.refuses('ACTION_FAILED', 1, ['global', 'edit', 'memos.yaml'], {
      env: await editor('echo "- x" > "$1"; exit 1'),
    });
  });
});

describe('teddy global', () => {
  test('edit changes global.context, which the next request follows', async () => {
    await project.begin('shown');
    expect(await request('shown')).not.toContain('src/app.ts blob');
    const saved = await project.run(['global', 'edit'], { env: await editor('echo src/app.ts >> "$1"') });
    expect(saved).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Saved global.context') });
    expect(await request('shown')).toContain('src/app.ts blob');
  });

  test('edit refuses files that are not there to edit, and names that are none', async () => {
    await project.ok('init');
    await project.refuses('USAGE', 2, ['global', 'edit', 'notes.txt']);
    await project.refuses('USAGE', 2, ['global', 'edit', '../memos.yaml']);
    await project.refuses('USAGE', 2, ['global', 'edit', 'agents/../memos.yaml']);
    await project.refuses('BAD_NAME', 2, ['global', 'edit', 'agents/My Agent.md']);
  });

  test('and memo alone print what there is and exit 0', async () => {
    for (const name of ['memo', 'global']) {
      for (const args of [[name], [name, '--help']]) {
        const { exitCode, stdout, stderr } = await project.run(args, { cwd: '/' });
        expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
        expect(stdout).toMatch(new RegExp(`^teddy ${name}: `));
        expect(stdout.split('\n').filter((line) => line.length > 120)).toEqual([]);
      }
      expect((await project.run([name, 'frob'])).stderr).toContain(
        `There is no command \`teddy ${name} frob\`. [USAGE]`,
      );
    }
  });
});
