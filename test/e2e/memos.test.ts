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
