/** The built library, in Node and in a browser: one file without dependencies. */
import * as nodeFs from 'node:fs';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { historyFormats } from '../../src/conversation/history/history.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const built = join(root, 'dist', 'reader.js');
const browser = '/usr/bin/chromium';

let teddy: TeddyProject;
let session: string;
let bundle: Uint8Array;
/** Format -> the executable's output. */
const printed: Record<string, string> = {};

beforeAll(async () => {
  teddy = await openTeddyProject();
  session = await teddy.begin('shown');
  await teddy.plan(createPlan('a.txt', 'Ä\u2028 <b>\n'), 'Make ☃ in a.txt');
  await teddy.ok('session', 'execute', '-y');
  await teddy.plan('Because.', 'Why?');
  const file = join(teddy.repo.root, '.git', 'shown.bundle');
  await teddy.ok('session', 'export', '--bundle', file);
  bundle = new Uint8Array(readFileSync(file));
  for (const format of historyFormats) printed[format] = await teddy.ok('session', 'history', '--format', format);
});
afterAll(() => teddy.close());

test('it takes at most 84 KB compressed, and does not contain zod', () => {
  expect(readFileSync(built, 'utf8')).not.toMatch(/zod/i);
  expect(gzipSync(readFileSync(built), { level: 9 }).length).toBeLessThanOrEqual(84_000);
});

test('it imports nothing', async () => {
  const { metafile } = await build({
    entryPoints: [built],
    bundle: false,
    format: 'esm',
    write: false,
    metafile: true,
  });
  expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([]);
  expect(readFileSync(built, 'utf8')).not.toMatch(/["']node:|\brequire\(["']/);
});

test('in Node it reads a repository by node:fs, with promises and with callbacks, and opens a bundle there', async () => {
  const reader = (await import(built)) as typeof import('../../src/reader/reader.ts');
  const { readFile, readdir, stat, lstat, readlink, writeFile, mkdir, unlink, rmdir, symlink } = nodeFs;
  const callbacks = { readFile, readdir, stat, lstat, readlink, writeFile, mkdir, unlink, rmdir, symlink };
  const dir = await mkdtemp(join(tmpdir(), 'teddy-reader-'));
  for (const [index, fs] of [nodeFs, callbacks].entries()) {
    const at = { fs, dir: teddy.repo.root, cache: {} };
    expect(await reader.listSessions(at)).toMatchObject([{ session, turns: 2, status: 'closed' }]);
    const turn = await reader.readTurn({ ...at, session, turn: '1' });
    expect(turn).toMatchObject({ messages: ['Make ☃ in a.txt'], report: { run_summary: { status: 'SUCCESS' } } });
    const opened = { fs, gitdir: join(dir, String(index), 'shown.git') };
    await reader.openBundle({ ...opened, bundle });
    for (const format of historyFormats) {
      expect((await reader.readHistory({ ...at, session, format })).text).toBe(printed[format]);
      expect((await reader.readHistory({ ...opened, session, format })).text).toBe(printed[format]);
    }
    const refused = reader.readSession({ ...at, session: '20260124-other' });
    await expect(refused).rejects.toBeInstanceOf(reader.TeddyError);
  }
  await rm(dir, { recursive: true });
});

test.skipIf(!existsSync(browser))(
  `in a browser it opens a bundle from memory and sends nothing (skipped where there is no ${browser})`,
  async () => {
    const { outputFiles } = await build({
      stdin: { contents: fileSystem, resolveDir: root },
      bundle: true,
      format: 'esm',
      write: false,
    });
    const files: Record<string, [string, string | Uint8Array]> = {
      '/': ['text/html', '<!doctype html><link rel="icon" href="data:,"><title>Reader</title>'],
      '/reader.js': ['text/javascript', readFileSync(built)],
      '/files.js': ['text/javascript', outputFiles[0]?.contents ?? ''],
      '/shown.bundle': ['application/octet-stream', bundle],
    };
    const server = createServer(({ url = '' }, response) => {
      const [type, body] = files[url] ?? ['text/plain', ''];
      response.writeHead(files[url] === undefined ? 404 : 200, { 'content-type': type }).end(body);
    });
    const address = await listen(server);
    const started = await chromium.launch({ executablePath: browser, args: ['--no-sandbox'] });
    try {
      const shown = await started.newPage();
      const faults: string[] = [];
      const requests: string[] = [];
      shown.on('pageerror', (error) => faults.push(error.message));
      shown.on('console', (message) => faults.push(message.text()));
      shown.on('request', (request) => requests.push(request.url().replace(address, '')));
      await shown.goto(`${address}/`);
      const read = (await shown.evaluate(`(async () => {
        const [reader, { memoryFiles }] = await Promise.all([import('/reader.js'), import('/files.js')]);
        const bundle = new Uint8Array(await (await fetch('/shown.bundle')).arrayBuffer());
        const at = { fs: memoryFiles(), dir: '/shown', cache: {} };
        const { refs } = await reader.openBundle({ ...at, bundle });
        const [{ session }] = await reader.listSessions(at);
        const { turns } = await reader.readSession({ ...at, session });
        const { report } = await reader.readTurn({ ...at, session, turn: '01' });
        const histories = {};
        for (const format of ${JSON.stringify(historyFormats)})
          histories[format] = (await reader.readHistory({ ...at, session, format })).text;
        const damaged = await reader.openBundle({ fs: memoryFiles(), dir: '/x', bundle: bundle.subarray(0, 2000) })
          .catch(({ code, hint }) => ({ code, hint }));
        return { refs, session, turns, status: report.run_summary.status, histories, damaged };
      })()`)) as Record<string, unknown>;
      expect(faults).toEqual([]);
      expect(read).toMatchObject({ session, turns: ['01', '02'], status: 'SUCCESS', histories: printed });
      expect(read['damaged']).toMatchObject({ code: 'DAMAGED_SESSION', hint: expect.stringMatching(/\S/) as string });
      expect(requests.filter((url) => url !== 'data:,')).toEqual(['/', '/reader.js', '/files.js', '/shown.bundle']);
    } finally {
      await started.close();
      server.close();
    }
  },
);

/** The minimum that isomorphic-git asks of a file system, in memory. */
const fileSystem = `
const failure = (code) => Object.assign(new Error(code), { code });
const stats = (content) => ({
  isFile: () => content instanceof Uint8Array,
  isDirectory: () => content === null,
  isSymbolicLink: () => false,
  size: content === null ? 0 : content.length,
  mtimeMs: 0, ctimeMs: 0, mode: content === null ? 0o40000 : 0o100644, dev: 0, ino: 0, uid: 0, gid: 0,
});
export function memoryFiles() {
  const nodes = new Map([['/', null]]);
  const parentOf = (path) => path.slice(0, path.lastIndexOf('/')) || '/';
  const find = (path) => {
    if (!nodes.has(path)) throw failure('ENOENT');
    return nodes.get(path);
  };
  const refuse = async () => { throw failure('ENOSYS'); };
  return { promises: {
    async readFile(path, options) {
      const content = find(path);
      if (content === null) throw failure('EISDIR');
      const encoding = typeof options === 'string' ? options : options?.encoding;
      return encoding === 'utf8' ? new TextDecoder().decode(content) : content.slice();
    },
    async writeFile(path, data) {
      if (!nodes.has(parentOf(path))) throw failure('ENOENT');
      nodes.set(path, typeof data === 'string' ? new TextEncoder().encode(data) : Uint8Array.from(data));
    },
    async mkdir(path) {
      if (nodes.has(path)) throw failure('EEXIST');
      if (!nodes.has(parentOf(path))) throw failure('ENOENT');
      nodes.set(path, null);
    },
    async readdir(path) {
      if (find(path) !== null) throw failure('ENOTDIR');
      const prefix = path === '/' ? '/' : path + '/';
      return [...nodes.keys()].filter((key) => key !== '/' && parentOf(key) + (parentOf(key) === '/' ? '' : '/') === prefix)
        .map((key) => key.slice(prefix.length));
    },
    async stat(path) { return stats(find(path)); },
    async lstat(path) { return stats(find(path)); },
    async unlink(path) { find(path); nodes.delete(path); },
    rmdir: refuse, readlink: refuse, symlink: refuse,
  } };
}
`;

function listen(server: Server): Promise<string> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  });
}
