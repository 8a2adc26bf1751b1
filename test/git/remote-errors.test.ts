import { expect, test } from 'vitest';
import { toGitFailure } from '../../src/git/run/git-failure.ts';
import { toRemoteError } from '../../src/git/remotes/remote-errors.ts';

test.each([
  [
    ["fatal: Unable to create temporary file '.git/objects/pack/tmp_pack_x': Permission denied"],
    'WRITE_FAILED',
    /that you may write to the repository/,
  ],
  [
    ["error: cannot lock ref 'refs/x': Unable to create '.git/x.lock': Read-only file system"],
    'WRITE_FAILED',
    /may write/,
  ],
  [['fatal: write error: No space left on device'], 'DISK_FULL', /space/],
  [["fatal: sha1 file 'tmp_idx' write error. Out of diskspace", 'fatal: index-pack failed'], 'DISK_FULL', /space/],
  [["error: cannot update ref 'refs/x': couldn't write 'x.lock'"], 'WRITE_FAILED', /space left on the disk/],
  [['error: remote unpack failed: unable to create temporary object directory'], 'REMOTE_UNREACHABLE', /ls-remote/],
  [['git@git.example.org: Permission denied (publickey).'], 'REMOTE_UNREACHABLE', /ssh-add/],
  [
    ["fatal: cannot change to '/srv/notes.git': Permission denied"],
    'REMOTE_UNREACHABLE',
    /who may read and write there/,
  ],
])('%j is %s, with its own next step', (said, code, hint) => {
  const error = toRemoteError('origin', { said, serverSaid: [], exitCode: 128, endedBy: null, stdout: '' });
  expect(error.code).toBe(code);
  expect(error.hint).toMatch(hint);
});

test('an address without a repository is not looked up among the configured remotes', () => {
  const said = (label: string) => [`fatal: '${label}' does not appear to be a git repository`];
  const hintFor = (label: string) =>
    toRemoteError(label, { said: said(label), serverSaid: [], exitCode: 128, endedBy: null, stdout: '' }).hint;
  expect(hintFor('origin')).toBe('`git remote -v` shows the addresses.');
  for (const label of ['../nosuch', 'ssh://git.example.org/x.git']) expect(hintFor(label)).toContain('Check the path');
});

test('a git that fails silently has a next step, too', () => {
  const error = toGitFailure('version', { exitCode: 1, signal: null, stderr: '' });
  expect(error).toMatchObject({ code: 'GIT_FAILED', message: 'git version failed: exit code 1' });
  expect(error.hint).toContain('`git --version`');
});
