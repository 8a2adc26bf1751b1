/** Memos and what else all sessions share: the commands, their races, and what the next request says. */
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

beforeEach(async () => {
  project = await openTeddyProject();
});

afterEach(() => project.close());

const stored = () => project.repo.git('show', 'teddy/global:memos.yaml');
const request = (session: string) => project.ok('session', 'plan', '-s', session, '-m', 'x', '--dry-run');

/** `$1` of the script is the file that is edited. */
async function editor(script: string): Promise<Record<string, string>> {
  const path = join(project.repo.root, '.git', 'edit.sh');
  await project.repo.write('.git/edit.sh', `#!/bin/sh\nset -e\n${script}\n`);
  await chmod(path, 0o755);
  return { GIT_EDITOR: path };
}

describe('teddy memo', () => {
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
});
