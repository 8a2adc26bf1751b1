/** A page's texts: teddy masks each one as a whole and then cuts it, with the command that prints all of it. */
import { TeddyError } from '../../errors.ts';
import { decodeText } from '../../session/text/bytes.ts';
import type { CommitChange, Store, TreeChange } from '../../ports/git.ts';
import type { Masker } from '../../ports/project.ts';
import { countWhole } from '../../session/text/clip-line.ts';
import type { RepoPath } from '../../names.ts';
import type { WriteEffect } from '../../plan/effects/effect.ts';
import type { PageFile, PageText } from '../../page/session-page.ts';
import { diffFiles, toFileDiff, type FileDiff } from '../review/diff-files.ts';
import { maskPaths, maskString } from '../line/mask-text.ts';

/** The number of characters to keep of one text. teddy masks twice as many, so that a text never ends with half a secret. */
export const maxText = 262_144;
/** The number of characters to keep of all of a turn's texts. */
const maxTexts = 16 * maxText;
const filesAtATime = 8;

type PageChange = TreeChange & Partial<Pick<CommitChange, 'oldMode'>>;

export interface PageTexts {
  /** Cuts a text. With `wasCut`, the text may contain marks where its reader omitted something. */
  cut(text: string, command: string, wasCut?: boolean): Promise<PageText>;
  diff(store: Store, changes: readonly PageChange[], actionOf?: (path: RepoPath) => number | null): Promise<PageFile[]>;
  /** Shows what an action would write; null when the file already has this content. */
  preview(effect: WriteEffect, command: string): Promise<PageFile | null>;
}

/** Opens the texts of one turn, or of one comparison. */
export function openTexts(masker: Masker): PageTexts {
  let room = maxTexts;

  async function cut(text: string, command: string, wasCut = false): Promise<PageText> {
    const max = Math.min(room, maxText, wasCut ? findWhole(text) : Infinity);
    const masked = text === '' ? '' : await maskString(masker, text.slice(0, 2 * max));
    const isWhole = text.length <= max;
    const kept = isWhole ? masked : masked.slice(0, max).replace(/[\uD800-\uDBFF]$/, '');
    room -= Math.min(kept.length, room);
    const characters = (wasCut ? countWhole(text) : text.length) - kept.length;
    return { text: detach(kept), cut: isWhole ? null : { characters: Math.max(characters, 1), command } };
  }

  async function cutFile({ diff, ...file }: FileDiff, change: TreeChange): Promise<Omit<PageFile, 'action'>> {
    const { before, after } = change;
    return { ...file, diff: await cut(diff, toDiffCommand(change)), before, after, replaces: [] };
  }

  return {
    cut,
    async diff(store, changes, actionOf = () => null) {
      const files: PageFile[] = [];
      const paths = await maskPaths(
        masker,
        changes.map(({ path }) => path),
      );
      for (let at = 0; at < changes.length; at += filesAtATime) {
        const some = changes.slice(at, at + filesAtATime);
        const diffs = await Promise.all(
          some.map((change, row) =>
            diffMasked(store, masker, { ...change, path: paths[at + row] ?? change.path }, change.path),
          ),
        );
        for (const [row, change] of some.entries())
          for (const diff of diffs[row] ?? [])
            files.push({ ...(await cutFile(diff, change)), action: actionOf(change.path) });
      }
      return files;
    },
    async preview({ action, path, before, after }, command) {
      const [shown = path] = await maskPaths(masker, [path]);
      const blobs = { before: null, after: null };
      const { diff, ...file } = toFileDiff(
        { ...blobs, path: shown, change: before === null ? 'added' : 'modified' },
        before && (await maskBytes(masker, before, path)),
        await maskBytes(masker, after, path),
      );
      return diff === '' ? null : { ...file, ...blobs, diff: await cut(diff, command), action, replaces: [] };
    },
  };
}

/** Copies a slice, because a log's slice keeps the whole log in memory, and a page contains a slice of each log. */
function detach(text: string): string {
  return new TextDecoder().decode(new TextEncoder().encode(text));
}

/** Returns half of the length before the first mark, because a secret may have been cut at the mark. */
function findWhole(text: string): number {
  const mark = text.search(/\n\[\d{1,3}(?:,\d{3})* more characters are left out\]/);
  return mark === -1 ? Infinity : Math.floor(mark / 2);
}

function toDiffCommand({ before, after }: TreeChange): string {
  if (before === null || after === null) return `git show ${(before ?? after ?? '').slice(0, 10)}`;
  return `git diff ${before.slice(0, 10)} ${after.slice(0, 10)}`;
}

/** Masks both sides as whole files, because a hunk may show part of a key, which teddy would not recognize. */
async function diffMasked(store: Store, masker: Masker, change: PageChange, path: RepoPath): Promise<FileDiff[]> {
  const readSize: Store['readSize'] = async (oid) => {
    const size = await store.readSize(oid);
    // A submodule's commit is in another repository.
    const mode = oid === change.after ? change.mode : (change.oldMode ?? '160000');
    if (size === null && mode !== '160000') throw new TeddyError('DAMAGED_SESSION', `The object ${oid} is missing.`);
    return size;
  };
  return diffFiles({ readSize, readBlob: async (oid) => maskBytes(masker, await store.readBlob(oid), path) }, [change]);
}

async function maskBytes(masker: Masker, bytes: Uint8Array, path: RepoPath): Promise<Uint8Array> {
  const text = bytes.includes(0) ? null : decodeText(bytes);
  if (text === null) return bytes;
  const { text: masked, count } = await masker.mask(text, path);
  return count === 0 ? bytes : new TextEncoder().encode(masked);
}
