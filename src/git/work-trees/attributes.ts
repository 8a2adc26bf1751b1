/** Attribute rules that keep git from rewriting teddy's bytes and keep diffs readable, whichever branch is checked out. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { removeFile, replaceFile } from '../../disk/replace-file.ts';
import { fallBackTo } from '../../disk/system-error.ts';

const begin = '# teddy: begin (written by `teddy session new`; keeps session files byte for byte)';
const end = '# teddy: end';
const rules = [
  '/.teddy/** -text -filter -ident -working-tree-encoding',
  '/.teddy/**/_context.log -diff linguist-generated',
  '/.teddy/**/transcript.jsonl -diff linguist-generated',
];
const block = [begin, ...rules, end, ''].join('\n');

/**
 * Writes teddy's block to the end of `info/attributes`. That file overrides every other attributes file, and its last
 * matching line wins. The user's own lines stay unchanged, byte for byte.
 */
export async function installAttributes(commonDir: string): Promise<void> {
  const path = attributesPath(commonDir);
  const text = await readAttributes(path);
  if (isWhole(text)) return;
  const others = removeBlocks(text);
  const gap = others === '' || others.endsWith('\n') ? '' : '\n';
  if (gap !== '') await write(commonDir, unendedPath(commonDir), others);
  await write(commonDir, path, `${others}${gap}${block}`);
}

/** Removes teddy's block, and the file when nothing else is in it. */
export async function removeAttributes(commonDir: string): Promise<void> {
  const path = attributesPath(commonDir);
  const text = await readAttributes(path);
  const others = removeBlocks(text);
  const unended = await readAttributes(unendedPath(commonDir));
  if (others !== text) {
    const left = others === `${unended}\n` ? unended : others;
    await (left === '' ? removeFile(path) : write(commonDir, path, left));
  }
  await removeFile(unendedPath(commonDir));
}

/** The user's lines, if the last of them had no newline, so that removing the block restores the file byte for byte. */
function unendedPath(commonDir: string): string {
  return join(commonDir, 'teddy', 'attributes.before');
}

/** A crash leaves nothing beside the file. */
function write(commonDir: string, path: string, text: string): Promise<void> {
  return replaceFile(path, Buffer.from(text, 'latin1'), join(commonDir, 'teddy'));
}

/** Returns true if the block exists but is not as teddy wrote it. A clone has no block until teddy first writes one. */
export async function areAttributesChanged(commonDir: string): Promise<boolean> {
  const text = await readAttributes(attributesPath(commonDir));
  return text.includes(begin) && !isWhole(text);
}

export function attributesPath(commonDir: string): string {
  return join(commonDir, 'info', 'attributes');
}

function readAttributes(path: string): Promise<string> {
  return readFile(path, 'latin1').catch(fallBackTo('', 'ENOENT'));
}

function isWhole(text: string): boolean {
  return text.endsWith(block) && text.indexOf(begin) === text.length - block.length;
}

/** Removes teddy's blocks. If a block's end is missing, only its first line can be distinguished from the user's lines. */
function removeBlocks(text: string): string {
  const start = text.indexOf(begin);
  if (start < 0) return text;
  const stop = text.indexOf(end, start);
  const after = stop < 0 ? start + begin.length : stop + end.length;
  return removeBlocks(text.slice(0, start) + text.slice(after).replace(/^\n/, ''));
}
