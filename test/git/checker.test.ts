/** Checkers as configured in git, run by a real shell. */
import { existsSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import type { Project } from '../../src/ports/project.ts';
import type { RepoPath } from '../../src/names.ts';
import { findChecker, findCheckers } from '../../src/workflow/writes/run-checker.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let scratch: ScratchRepository;
let project: Project;

async function open(): Promise<Project> {
  return openProject({
    cwd: scratch.root,
    env: process.env,
    notices: { info: () => undefined, warn: () => undefined },
  });
}

beforeEach(async () => {
  scratch = await makeScratchRepository({ 'README.md': '# Notes\n' });
});
afterEach(async () => {
  await project.repository.close();
  await scratch.close();
});

test.each(['*.py', 'src/**/*.{py,rb}', 'src/with "quotes"/*.py', 'src/A[a-c]/x.py', 'src/a b.py', 'src/ü.py'])(
  'git takes %j as part of a key, and returns it',
  async (glob) => {
    await scratch.git('config', `teddy.validate.${glob}.command`, 'check "$TEDDY_FILE"');
    project = await open();
    expect(await project.repository.store.settings('teddy.validate.')).toEqual([
      { key: `teddy.validate.${glob}.command`, value: 'check "$TEDDY_FILE"' },
    ]);
  },
);

test('the key’s section and name may be written in any case', async () => {
  await scratch.git('config', 'Teddy.validate.*.py.Command', 'true');
  project = await open();
  expect(await findCheckers(project, 'a.py' as RepoPath)).toEqual([{ glob: '*.py', command: 'true' }]);
});

test('the command reads the content outside the work tree, and runs in the work tree', async () => {
  await scratch.git(
    'config',
    'teddy.validate.*.py.command',
    'test -f README.md && cat "$TEDDY_FILE" && echo "$TEDDY_FILE for $TEDDY_TARGET" && basename "$TEDDY_FILE" >&2; exit 1',
  );
  project = await open();
  const checker = await findChecker(project, { root: scratch.root }, 'src/a.py' as RepoPath);
  const findings = await checker?.(new TextEncoder().encode('x = 1\n'));
  expect(findings?.[0]?.message).toContain('exited with 1: x = 1\nsrc/a.py for src/a.py\na.py');
});

test('the file for the command is removed afterwards', async () => {
  await scratch.git('config', 'teddy.validate.*.py.command', 'printf %s "$(dirname "$TEDDY_FILE")"; exit 1');
  project = await open();
  const checker = await findChecker(project, { root: scratch.root }, 'a.py' as RepoPath);
  const findings = await checker?.(new Uint8Array());
  const directory = findings?.[0]?.message.split('exited with 1: ')[1] ?? '';
  expect(directory).toMatch(/teddy-file-\w+$/);
  expect(existsSync(directory)).toBe(false);
});
