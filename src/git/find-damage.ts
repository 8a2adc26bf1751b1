/** Whether everything that some lines hold is there: each object is found, and its head can be read. */
import type { DamagedObject } from '../ports/disk.ts';
import type { RefTip } from '../ports/git.ts';
import { parseOid, repoPathFromGit, type Oid, type RepoPath } from '../names.ts';
import type { GitRunner } from './run.ts';

/** So many are traced to their files: each costs a walk. */
const maxTraced = 20;

/** `not`: what these reach is not looked at, but for what the tips themselves hold. */
export async function checkObjects(
  git: GitRunner,
  tips: readonly RefTip[],
  not: readonly Oid[],
): Promise<{ objects: number; damaged: DamagedObject[] }> {
  if (tips.length === 0) return { objects: 0, damaged: [] };
  const { listed, bad } = await walk(git, tips, not);
  if (bad.size === 0) return { objects: listed, damaged: [] };
  const damaged: DamagedObject[] = [];
  const known = new Set<Oid>();
  // Line by line only now: what several of them share is told once.
  for (const tip of tips) {
    for (const oid of (await walk(git, [tip], not)).bad) {
      if (known.has(oid)) continue;
      known.add(oid);
      const path = known.size > maxTraced ? null : await findPath(git, tip.oid, oid);
      damaged.push({ oid, ref: tip.ref, path });
    }
  }
  return { objects: listed, damaged };
}

async function walk(
  git: GitRunner,
  tips: readonly RefTip[],
  not: readonly Oid[],
): Promise<{ listed: number; bad: Set<Oid> }> {
  const oids = tips.map(({ oid }) => oid);
  const listings = await Promise.all([
    list(git, [], [...oids, ...not.map((oid) => `^${oid}`)]),
    list(git, ['--no-walk'], oids),
  ]);
  const rows = [...new Set(listings.flatMap((listing) => listing.rows))];
  const bad = new Set([
    ...rows.filter((row) => row.startsWith('?')).map((row) => parseOid(row.slice(1))),
    ...listings.flatMap(({ named }) => named),
  ]);
  const present = rows.filter((row) => !row.startsWith('?'));
  for (const oid of await findUnreadable(git, present)) bad.add(oid);
  return { listed: rows.length, bad };
}

async function list(git: GitRunner, flags: string[], revisions: string[]): Promise<{ rows: string[]; named: Oid[] }> {
  const args = ['rev-list', '--objects', '--no-object-names', '--missing=print', ...flags, '--stdin'];
  const input = `${revisions.join('\n')}\n`;
  const { stdout, stderr, exitCode } = await git.run(args, { input, accept: [1, 128] });
  const rows = stdout.toString('latin1').split('\n');
  return { rows: rows.filter((row) => row !== ''), named: exitCode === 0 ? [] : readNamed(stderr) };
}

/** Of what git has said when it could not go on: the object, and not the one that names it. */
function readNamed(stderr: string): Oid[] {
  const named =
    /(?:bad object|[Cc]ould not read|loose object|unable to read tree|missing object|unable to parse object:?) \(?([0-9a-f]{40,64})/g;
  const found = [...stderr.matchAll(named)].flatMap(([, oid]) => (oid === undefined ? [] : [parseOid(oid)]));
  return [...new Set(found)];
}

/** Found, but empty or not an object's file: what a power cut leaves. */
async function findUnreadable(git: GitRunner, oids: string[]): Promise<Oid[]> {
  if (oids.length === 0) return [];
  const args = ['cat-file', '--batch-check=%(objectname) %(objectsize)', '--buffer'];
  const { stdout } = await git.run(args, { input: `${oids.join('\n')}\n`, accept: [128] });
  const rows = stdout
    .toString('latin1')
    .split('\n')
    .filter((row) => row !== '');
  const told = rows.filter((row) => row.endsWith(' missing')).map((row) => parseOid(row.slice(0, -' missing'.length)));
  // At some it ends instead: the next one after the last that was answered.
  const stopped = oids[rows.length];
  return stopped === undefined ? told : [...told, parseOid(stopped)];
}

/** The file, as the commit that brought it has it. Null where the walk is cut off by what is missing. */
async function findPath(git: GitRunner, tip: Oid, oid: Oid): Promise<RepoPath | null> {
  const args = ['log', '-t', '--raw', '--no-abbrev', '--no-renames', '--format=', '-z', `--find-object=${oid}`, tip];
  const { stdout } = await git.run([...args, '--'], { accept: [1, 128] });
  const fields = stdout.toString('utf8').split('\0');
  const row = fields.findIndex((field) => field.startsWith(':') && field.includes(` ${oid} `));
  const path = row === -1 ? undefined : fields[row + 1];
  return path === undefined || path === '' ? null : repoPathFromGit(path);
}
