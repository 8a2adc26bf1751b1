/** Turns a git bundle in memory, as `teddy export --bundle` writes it, into a repository for the reader. */
import { indexPack, readCommit } from 'isomorphic-git';
import { TeddyError } from '../errors.ts';
import type { Oid, RefName } from '../names.ts';
import type { RefTip } from '../ports/git.ts';
import { openFiles, type Files } from './file-system.ts';
import { gitdirOf, otherFormatError, reasonOf, type RepositoryOptions } from './open-store.ts';

export interface BundleOptions extends RepositoryOptions {
  /** The whole file's bytes. */
  bundle: Uint8Array;
}

export interface OpenedBundle {
  /** The ref of each line in the bundle, and its commit. */
  refs: RefTip[];
}

interface Header {
  refs: RefTip[];
  /** The offset at which the pack begins. */
  packAt: number;
}

/**
 * Creates a bare repository from the bundle at `gitdir` (or `<dir>/.git`), which must not exist. Checks all objects,
 * and leaves no files when it refuses a bundle. Throws UNKNOWN_FORMAT for a file that is not a bundle or that
 * isomorphic-git cannot read, DAMAGED_SESSION for a bundle that is damaged or not self-contained, BAD_TARGET when the
 * path already exists, and USAGE.
 */
export async function openBundle(options: BundleOptions): Promise<OpenedBundle> {
  const { fs, bundle, cache = {} } = options;
  const gitdir = gitdirOf(options);
  const files = openFiles(fs);
  if ((await files.read(`${gitdir}/HEAD`)) !== null)
    throw new TeddyError(
      'BAD_TARGET',
      `There is already a repository at ${gitdir}.`,
      'Open the bundle in a directory that does not exist yet.',
    );
  const { refs, packAt } = readHeader(bundle);
  const pack = bundle.subarray(packAt);
  const filepath = `objects/pack/pack-${toHex(pack.subarray(-20))}.pack`;
  await files.makeDir(`${gitdir}/objects/pack`);
  await files.makeDir(`${gitdir}/refs/heads`);
  try {
    await files.write(`${gitdir}/${filepath}`, pack);
    const { oids } = await indexPack({ fs, dir: gitdir, gitdir, filepath, cache });
    if (new Set(oids).size !== countObjects(pack)) throw damagedError('some of its objects cannot be read');
    await checkHistory({ fs, gitdir, cache }, refs, new Set(oids));
  } catch (error) {
    await files.remove(`${gitdir}/${filepath}`);
    await files.remove(`${gitdir}/${filepath.replace(/pack$/, 'idx')}`);
    throw error instanceof TeddyError ? error : damagedError(reasonOf(error), error);
  }
  await writeRefs(files, gitdir, refs);
  return { refs };
}

/** See gitformat-bundle(5). */
function readHeader(bundle: Uint8Array): Header {
  const lines: string[] = [];
  let at = 0;
  for (let end = bundle.indexOf(0x0a); end !== -1; end = bundle.indexOf(0x0a, at)) {
    const line = new TextDecoder().decode(bundle.subarray(at, end));
    at = end + 1;
    if (lines.length === 0 && !/^# v[23] git bundle$/.test(line)) break;
    if (line === '') return { refs: readRefs(lines.slice(1)), packAt: at };
    lines.push(line);
  }
  if (lines.length > 0) throw damagedError('it ends before its objects');
  throw new TeddyError(
    'UNKNOWN_FORMAT',
    'This is not a git bundle: it does not begin with `# v2 git bundle` or `# v3 git bundle`.',
    '`teddy export --bundle <file>` creates one.',
  );
}

function readRefs(lines: readonly string[]): RefTip[] {
  return lines.flatMap((line) => {
    if (line.startsWith('@')) {
      refuseCapability(line.slice(1));
      return [];
    }
    if (line.startsWith('-'))
      throw new TeddyError(
        'DAMAGED_SESSION',
        `The bundle is not self-contained: it needs the commit ${line.slice(1, 13)}, which it does not contain.`,
        'Create one with the whole history of the session: `teddy export --bundle <file>`.',
      );
    const [, oid, ref] = /^([0-9a-f]{40}) (refs\/\S+|HEAD)$/.exec(line) ?? [];
    if (/^[0-9a-f]{64} /.test(line)) throw otherFormatError('its object ids are SHA256');
    if (oid === undefined || ref === undefined || ref.includes('..'))
      throw damagedError(`its header has a line ${JSON.stringify(line)}`);
    return ref === 'HEAD' ? [] : [{ ref: ref as RefName, oid: oid as Oid }];
  });
}

function refuseCapability(capability: string): void {
  if (capability === 'object-format=sha1') return;
  const format = /^object-format=(.*)$/.exec(capability)?.[1];
  if (format !== undefined) throw otherFormatError(`its object ids are ${format.toUpperCase()}`);
  throw otherFormatError(`it is a bundle with \`${capability}\``);
}

function countObjects(pack: Uint8Array): number {
  const isPack = pack.length >= 32 && new TextDecoder().decode(pack.subarray(0, 4)) === 'PACK';
  if (!isPack) throw damagedError('its objects are missing');
  return new DataView(pack.buffer, pack.byteOffset).getUint32(8);
}

/**
 * Checks that the bundle contains each ref's commit and all commits before it. Reading the first one also checks the
 * pack's checksum.
 */
async function checkHistory(
  at: { fs: RepositoryOptions['fs']; gitdir: string; cache: object },
  refs: readonly RefTip[],
  held: ReadonlySet<string>,
): Promise<void> {
  const commits = new Set<string>(refs.map(({ oid }) => oid));
  for (const oid of commits) {
    if (!held.has(oid))
      throw damagedError(
        refs.some((one) => one.oid === oid)
          ? `the commit ${oid.slice(0, 12)}, which a ref points to, is not in it`
          : `its history is cut off before ${oid.slice(0, 12)}, as in a shallow clone`,
      );
    for (const parent of (await readCommit({ ...at, oid })).commit.parent) commits.add(parent);
  }
}

/** Writes HEAD last, because HEAD makes the directory a repository. */
async function writeRefs(files: Files, gitdir: string, refs: readonly RefTip[]): Promise<void> {
  const rows = refs.map(({ ref, oid }) => `${oid} ${ref}\n`).toSorted((a, b) => (a.slice(41) < b.slice(41) ? -1 : 1));
  const texts = {
    config: '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n',
    'packed-refs': `# pack-refs with: peeled fully-peeled sorted \n${rows.join('')}`,
    HEAD: `ref: ${refs[0]?.ref ?? 'refs/heads/main'}\n`,
  };
  for (const [name, text] of Object.entries(texts))
    await files.write(`${gitdir}/${name}`, new TextEncoder().encode(text));
}

function toHex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

function damagedError(reason: string, cause?: unknown): TeddyError {
  return new TeddyError(
    'DAMAGED_SESSION',
    `The bundle cannot be opened: ${reason}.`,
    'Get another copy, or create it again: `teddy export --bundle <file>`.',
    { cause },
  );
}
