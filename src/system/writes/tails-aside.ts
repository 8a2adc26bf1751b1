/** Stores the bytes after a staging directory's confirmed ones separately, as `tail-<n>.txt`. */
import { open, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { removeFile, replaceDurably, syncDirectory } from '../../disk/durable-file.ts';
import { contentName, replacementName, type StagingReading } from './staged-content.ts';

/** When teddy reopens a staging directory, stores the bytes that no save has confirmed, so that no write replaces them. */
export async function setTailsAside(
  path: string,
  found: StagingReading,
  onStep: (step: string) => void,
): Promise<void> {
  const { state, verified, beyond, replacement, file } = found;
  if (state?.file === null) {
    // A crash happened before teddy removed these files.
    for (const name of [contentName, replacementName]) await removeFile(join(path, name));
    return;
  }
  if (beyond.length > 0) {
    await replaceDurably(await nextTailPath(path), beyond, 0o600);
    onStep('staging-tail');
    await truncateDurably(join(path, file), verified.length);
  }
  if (replacement === null) return;
  await rename(join(path, replacementName), await nextTailPath(path));
  await syncDirectory(path);
}

async function nextTailPath(path: string): Promise<string> {
  const numbers = (await readdir(path)).map((name) => Number(tailPattern.exec(name)?.[1] ?? 0));
  return join(path, `tail-${Math.max(...numbers) + 1}.txt`);
}

const tailPattern = /^tail-(\d+)\.txt$/;

/** Reads the bytes set aside, oldest first. */
export async function readTailsAside(path: string): Promise<{ name: string; bytes: Uint8Array }[]> {
  const names = (await readdir(path)).filter((name) => tailPattern.test(name));
  const toNumber = (name: string) => Number(tailPattern.exec(name)?.[1]);
  const sorted = names.toSorted((a, b) => toNumber(a) - toNumber(b));
  return Promise.all(sorted.map(async (name) => ({ name, bytes: await readFile(join(path, name)) })));
}

async function truncateDurably(path: string, size: number): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.truncate(size);
    await file.datasync();
  } finally {
    await file.close();
  }
}
