/** Commits along first parents, oldest first, each with what it changed: three children for all of them, not one for each. */
import { TeddyError } from '../errors.ts';
import type { ChangedCommit, Commit, CommitChange, TreeMode } from '../ports.ts';
import { parseOid, repoPathFromGit, type Oid } from '../session/names.ts';
import type { GitRunner } from './run.ts';

/** So many commits are asked for at a time: they are read while their changes are told. */
const commitsAtATime = 64;

export async function* walkChanges(
  git: GitRunner,
  readCommit: (oid: Oid) => Promise<Commit>,
  from: Oid,
  not: readonly Oid[],
): AsyncGenerator<ChangedCommit> {
  const listed = await git.text(['rev-list', '--first-parent', '--parents', '--reverse', from, '--not', ...not]);
  // Commit and first parent alone: the others of a merge are no steps of this line.
  const rows = listed === '' ? [] : listed.split('\n').map((row) => row.split(' ', 2).join(' '));
  const changes = readChanges(git, rows);
  for (let at = 0; at < rows.length; at += commitsAtATime) {
    const oids = rows.slice(at, at + commitsAtATime).map((row) => parseOid(row.split(' ', 1)[0] ?? ''));
    const commits = await Promise.all(oids.map(readCommit));
    for (const [i, oid] of oids.entries()) {
      const next = await changes.next();
      const commit = commits[i];
      if (next.done || next.value.oid !== oid || commit === undefined)
        throw new TeddyError('GIT_FAILED', `git diff-tree did not tell what ${oid} changed.`, 'Run `git fsck`.');
      yield { oid, commit, changes: next.value.changes };
    }
  }
}

type Told = Pick<ChangedCommit, 'oid' | 'changes'>;

async function* readChanges(git: GitRunner, rows: readonly string[]): AsyncGenerator<Told, undefined> {
  if (rows.length === 0) return undefined;
  const flags = ['--stdin', '-r', '-z', '--raw', '--root', '--no-renames', '--always', '--no-abbrev'];
  const child = git.start(['diff-tree', ...flags]);
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
  child.stdin.on('error', () => undefined);
  const closed = new Promise<number>((resolve) => {
    child.on('error', () => resolve(128));
    child.on('close', (code) => resolve(code ?? 128));
  });
  child.stdin.end(`${rows.join('\n')}\n`);
  let told: Told | null = null;
  try {
    for await (const [header, path] of joinRows(child.stdout)) {
      if (path !== null) told?.changes.push(toChange(header, path));
      else {
        if (told !== null) yield told;
        told = { oid: parseOid(header), changes: [] };
      }
    }
  } finally {
    // A consumer that stops early closes the pipe on git.
    child.stdout.destroy();
  }
  if ((await closed) !== 0)
    throw new TeddyError('DAMAGED_SESSION', `git diff-tree failed: ${said.trim()}`, 'Run `git fsck`.');
  if (told !== null) yield told;
  return undefined;
}

/** A commit's id by itself, or a change with the path that follows it. */
async function* joinRows(pieces: AsyncIterable<Buffer>): AsyncGenerator<[header: string, path: string | null]> {
  let rest: Buffer = Buffer.alloc(0);
  let change: string | null = null;
  for await (const piece of pieces) {
    const all: Buffer = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    // Only whole fields: a character may be torn apart at the end of a piece.
    const end = all.lastIndexOf(0) + 1;
    rest = all.subarray(end);
    for (const field of end === 0 ? [] : all.toString('utf8', 0, end - 1).split('\0')) {
      if (change !== null) {
        yield [change, field];
        change = null;
      } else if (field.startsWith(':')) change = field;
      else yield [field, null];
    }
  }
}

/** `:<mode> <mode> <oid> <oid> <letter>`; what is not there has the mode 000000. */
function toChange(header: string, path: string): CommitChange {
  const [oldMode = '', mode = '', before = '', after = ''] = header.slice(1).split(' ');
  const isAdded = oldMode === '000000';
  const isDeleted = mode === '000000';
  return {
    path: repoPathFromGit(path),
    change: isAdded ? 'added' : isDeleted ? 'deleted' : 'modified',
    before: isAdded ? null : parseOid(before),
    after: isDeleted ? null : parseOid(after),
    oldMode: isAdded ? null : (oldMode as TreeMode),
    mode: isDeleted ? null : (mode as TreeMode),
  };
}
