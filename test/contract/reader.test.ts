/**
 * The reader without git beside the real store: everything that one reads from a session, the other reads as well, byte
 * for byte.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import * as nodeFs from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RefName } from '../../src/names.ts';
import { historyFormats } from '../../src/conversation/history/history.ts';
import { openRepository } from '../../src/git/repository.ts';
import type { Project } from '../../src/ports/project.ts';
import {
  listSessions,
  openBundle,
  readHistory,
  readSession,
  readTurn,
  type TeddyError,
} from '../../src/reader/reader.ts';
import type { RepositoryOptions } from '../../src/reader/open-store.ts';
import { showHistory } from '../../src/workflow/conversation/show-history.ts';
import { listSessions as listWithGit } from '../../src/workflow/review/list-sessions.ts';
import { logSession } from '../../src/workflow/review/log-session.ts';
import { listSessionLines } from '../../src/session/lines/session-lines.ts';
import { showTurn } from '../../src/workflow/review/show-turn.ts';
import { createFsFromVolume, Volume } from 'memfs';
import { toGitDirectory } from '../support/memory-objects.ts';
import type { MemoryProject } from '../support/memory-repository.ts';
import { memoryProject } from '../support/memory-repository.ts';
import { openFollower, settle } from '../../src/workflow/capture/follow-log.ts';
import { claudePlans, secondPlan } from '../support/agent-plan-fixtures.ts';
import { memoryCapture } from '../support/memory-agent-logs.ts';
import { recordedSession } from '../support/recorded-session.ts';
import { createPlan, openTeddyProject, planOf, executeAction, type TeddyProject } from '../support/teddy-project.ts';

const fixtures = fileURLToPath(new URL('../../fixtures', import.meta.url));

/**
 * Compares the reader's view of every session and line with the results of the workflow's verbs. Returns the number of
 * histories compared. The verbs are not called again for `known` ones.
 */
async function compareAll(
  project: Project,
  at: RepositoryOptions,
  known = new Map<string, Promise<unknown>>(),
): Promise<number> {
  let compared = 0;
  const once = <Answer>(key: string, ask: () => Promise<Answer>): Promise<Answer> => {
    if (!known.has(key)) known.set(key, ask());
    return known.get(key) as Promise<Answer>;
  };
  const withGit = await once('all', () => listWithGit(project, { archived: true }));
  const listed = await listSessions({ ...at, archived: true });
  expect(listed.map((one) => ({ ...one, current: false }))).toEqual(withGit.map((one) => ({ ...one, current: false })));
  expect(await listSessions(at)).toHaveLength((await once('list', () => listWithGit(project))).length);
  for (const { session } of listed) {
    const { lines } = await once(`lines ${session}`, () => listSessionLines(project, session));
    const main = await readSession({ ...at, session });
    expect(main.lines).toEqual(lines);
    for (const line of lines) {
      const read = await readSession({ ...at, session, line: line.ref ?? '' });
      expect(read).toMatchObject({ session, line, commit: line.tip });
      const log = await once(`log ${line.tip}`, () => logSession(project, line.tip));
      expect(read.steps).toEqual(log.entries.toReversed());
      for (const turn of read.turns) {
        const shown = await once(`${line.tip} ${turn}`, () => showTurn(project, { selector: line.tip, turn }));
        const readOne = await readTurn({ ...at, session, line: line.name, turn });
        const { status, messages, said, plan, reply, replyIsPartial, report } = shown;
        expect(readOne).toMatchObject({ session, turn, status, messages, said, plan, reply, replyIsPartial, report });
      }
      for (const format of historyFormats) {
        const shown = await once(`${line.tip} ${format}`, () => showHistory(project, { target: line.tip, format }));
        const history = await readHistory({ ...at, commit: line.tip, format });
        expect(history.text).toBe(shown.text);
        expect(history.messages).toEqual(shown.messages);
        expect(history.repairs).toEqual(shown.repairs);
        expect(history.commit).toBe(shown.commit);
        expect((await readHistory({ ...at, session, line: line.name, format })).text).toBe(shown.text);
        compared += 1;
      }
    }
  }
  return compared;
}

/** Any call that writes is an error. */
function readOnly<Fs extends object>(fs: Fs): Fs {
  const reading = /^(?:readFile|readdir|stat|lstat|readlink|promises)$/;
  return new Proxy(fs, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof name === 'string' && name === 'promises') return readOnly(value as object);
      if (typeof value !== 'function') return value;
      if (typeof name === 'string' && reading.test(name)) return (value as () => unknown).bind(target);
      return () => {
        throw new Error(`${String(name)} was called.`);
      };
    },
  });
}

describe('in memory', () => {
  const gitdir = '/project/.git';
  let project: MemoryProject;
  const at = (fs = toGitDirectory(project.disk)): RepositoryOptions => ({ fs: readOnly(fs), gitdir, cache: {} });

  let recorded: MemoryProject;
  let refs: Awaited<ReturnType<MemoryProject['repository']['store']['listRefs']>>;
  beforeAll(async () => {
    recorded = await recordedSession();
    // HEAD is on no line, because `teddy list` would otherwise show that line.
    await recorded.switchTo('main');
    refs = await recorded.repository.store.listRefs('refs/');
  });
  beforeEach(async () => {
    project = recorded;
    recorded.disk.refs.clear();
    for (const { ref, oid } of refs) await recorded.setRef(ref, oid);
  });

  test('a session with every kind of entry, on several lines, is read alike', async () => {
    expect(await compareAll(project, at())).toBe(4 * 4);
    const { session } = (await listSessions(at()))[0] ?? {};
    // The directory of a work tree, and no cache.
    const found = { fs: toGitDirectory(project.disk), dir: '/project/' };
    expect((await readHistory({ ...found, session, format: 'openai' })).text).not.toBe('[]\n');
  });

  test('archived lines, and lines that only a remote has, are read alike', async () => {
    const branches = await project.repository.store.listRefs('refs/heads/teddy/');
    for (const [index, { ref, oid }] of branches.entries()) {
      const name = ref.slice('refs/heads/teddy/'.length);
      await project.setRef(
        index % 2 === 0 ? `refs/teddy/archive/2026-01/${name}` : `refs/remotes/origin/teddy/${name}`,
        oid,
      );
    }
    expect(await compareAll(project, at())).toBeGreaterThan(8);
    for (const { ref } of branches) project.disk.refs.delete(ref);
    expect(await compareAll(project, at())).toBe(4 * 4);
  });

  test('other agents’ plans are read alike, and are not parsed as plans by teddy', async () => {
    project = await memoryProject();
    const capture = memoryCapture('claude-code');
    const path = '/home/ada/.claude/projects/-home-ada-shop/s1.jsonl';
    capture.files.set(
      path,
      claudePlans('2.1.330')
        .map((one) => `${JSON.stringify(one)}\n`)
        .join(''),
    );
    const options = { cwd: null, isOurs: async () => true, isLeftOut: () => false };
    const follower = await openFollower(project, capture, { agent: 'claude-code', path }, options);
    await settle(follower);
    expect(await compareAll(project, at())).toBe(4);
    const { session } = (await listSessions(at()))[0] ?? {};
    expect(await readTurn({ ...at(), session, turn: '02' })).toMatchObject({ plan: secondPlan, parsed: null });
  });

  test('a session that has landed is marked', async () => {
    const tip = await project.tipOf('teddy/20260124-add-login');
    await project.setRef('refs/heads/main', tip);
    expect(await compareAll(project, at())).toBe(4 * 4);
    const [pending] = await listSessions(at());
    const { line: branch = '', has } = pending?.beside ?? {};
    expect([pending?.state, has]).toEqual(['pending', 'plan']);
    const ref = `refs/heads/${branch}` as RefName;
    const old = await project.tipOf(branch);
    await project.repository.store.updateRefs([{ ref, old, new: null }], 'test');
    expect((await listSessions(at()))[0]).toMatchObject({ state: 'landed', beside: null });
  });

  test('a missing item is an error with a code and a hint', async () => {
    const session = '20260124-add-login';
    const refusals: [string, () => Promise<unknown>][] = [
      ['NOT_A_REPOSITORY', () => listSessions({ fs: project.fs, dir: '/elsewhere' })],
      ['USAGE', () => listSessions({ fs: project.fs })],
      ['USAGE', () => readSession(at())],
      ['UNKNOWN_SESSION', () => readSession({ ...at(), session: '20260124-other' })],
      ['UNKNOWN_SESSION', () => readSession({ ...at(), session, line: 'teddy/other' })],
      ['UNKNOWN_COMMIT', () => readSession({ ...at(), commit: 'f'.repeat(40) })],
      ['UNKNOWN_COMMIT', () => readSession({ ...at(), commit: 'main' })],
      ['NOT_ON_LINE', async () => readSession({ ...at(), commit: await project.tipOf('main') })],
      ['UNKNOWN_TURN', () => readTurn({ ...at(), session, turn: '99' })],
      ['UNKNOWN_TURN', () => readTurn({ ...at(), session, turn: 'x' })],
      ['UNKNOWN_TURN', () => readHistory({ ...at(), session, format: 'openai', from: '99' })],
      ['USAGE', () => readHistory({ ...at(), session, format: 'html' as never })],
      ['USAGE', () => readHistory({ ...at(), session, format: 'toString' as never })],
    ];
    for (const [code, refused] of refusals)
      await expect(refused(), code).rejects.toMatchObject({ code, hint: expect.stringMatching(/\S/) as string });
  });

  test('a repository in a format that isomorphic-git cannot read is refused', async () => {
    project = await memoryProject();
    const fs = toGitDirectory(project.disk);
    const config = fs.readFileSync(`${gitdir}/config`, 'utf8') as string;
    for (const [extension, reason] of [
      ['objectformat = sha256', /SHA256/],
      ['refstorage = reftable', /reftable/],
    ] as const) {
      fs.writeFileSync(`${gitdir}/config`, `${config}[extensions]\n\t${extension}\n`);
      await expect(listSessions(at(fs))).rejects.toMatchObject({ code: 'UNKNOWN_FORMAT', message: reason });
    }
    fs.writeFileSync(`${gitdir}/config`, config);
    fs.mkdirSync(`${gitdir}/objects/info`, { recursive: true });
    fs.writeFileSync(`${gitdir}/objects/info/alternates`, '/elsewhere/objects\n');
    await expect(listSessions(at(fs))).rejects.toMatchObject({
      code: 'UNKNOWN_FORMAT',
      message: expect.stringMatching(/alternates/) as string,
    });
  });
});

describe('in a git repository', () => {
  let teddy: TeddyProject;
  let project: Project;
  const at = (): RepositoryOptions => ({ fs: readOnly(nodeFs), dir: teddy.repo.root, cache: {} });
  const printed = (session: string, format: string) => teddy.ok('session', 'history', session, '--format', format);

  beforeAll(async () => {
    teddy = await openTeddyProject();
    const talk = await teddy.begin('talk');
    await teddy.plan(
      planOf('### CREATE\n\n- File: `a.txt`\n\n```\nA\n```', executeAction(String.raw`printf '\tx\n  y\n\nz\n'`)),
      'Make a',
    );
    await teddy.ok('session', 'execute', '-y');
    await teddy.plan('Because.', 'Why?');
    await teddy.ok('session', 'say', '-m', 'Never answered.');
    await teddy.ok('session', 'branch', '02');
    await teddy.plan('Otherwise.', 'Why not?');
    for (const name of ['damaged', 'orchestrator', 'plan-turn', 'tools'])
      await teddy.ok('session', 'import', join(fixtures, 'transcripts', `${name}.jsonl`));
    await teddy.repo.git('switch', '-q', 'main');
    await teddy.begin('landed');
    await teddy.plan(createPlan('b.txt', 'B\n'), 'Make b');
    await teddy.ok('session', 'execute', '-y');
    await teddy.ok('session', 'land');
    await teddy.repo.git('switch', '-q', 'main');
    await teddy.begin('put-away');
    await teddy.plan('Yes.', 'No?');
    await teddy.repo.git('switch', '-q', 'main');
    await teddy.ok('session', 'archive', 'put-away');
    // A remote that has a line which exists nowhere here.
    await teddy.repo.git('update-ref', 'refs/remotes/origin/teddy/only-there', `refs/heads/teddy/${talk}`);
    const repository = await openRepository({ cwd: teddy.repo.root, env: process.env });
    const { store } = repository;
    // No ref moves during the comparison, and each verb asks git for the same ones again.
    const listed = new Map<string, ReturnType<typeof store.listRefs>>();
    const listRefs: typeof store.listRefs = (...prefixes) => {
      const key = prefixes.join(' ');
      if (!listed.has(key)) listed.set(key, store.listRefs(...prefixes));
      return listed.get(key) ?? store.listRefs(...prefixes);
    };
    const known = { ...repository, store: { ...store, listRefs } };
    project = { repository: known, clock: { now: () => new Date() } } as unknown as Project;
  });
  afterAll(async () => {
    await project.repository.close();
    await teddy.close();
  });

  test('loose objects, packs and packed refs are read alike, and as the executable prints them', async () => {
    const known = new Map<string, Promise<unknown>>();
    const loose = await compareAll(project, at(), known);
    expect(loose).toBeGreaterThanOrEqual(4 * 5);
    await teddy.repo.git('gc', '-q', '--prune=now');
    await teddy.repo.git('pack-refs', '--all');
    expect(await compareAll(project, at(), known)).toBe(loose);
    // The bundle below is read in the other formats.
    const [format] = historyFormats;
    const packed = at();
    for (const { session } of await listSessions({ ...packed, archived: true }))
      expect((await readHistory({ ...packed, session, format })).text, session).toBe(await printed(session, format));
  });

  test('a bundle from memory gives the same history', async () => {
    const file = join(teddy.repo.root, '.git', 'talk.bundle');
    const [{ session } = { session: '' }] = await listSessions(at());
    await teddy.ok('session', 'export', '-s', session, '--bundle', file);
    const fs = createFsFromVolume(new Volume());
    const opened = await openBundle({ fs, dir: '/opened', bundle: new Uint8Array(readFileSync(file)) });
    expect(opened.refs.map(({ ref }) => ref)).toEqual([`refs/heads/teddy/${session}`]);
    const cache = {};
    expect((await listSessions({ fs, dir: '/opened', cache })).map((one) => one.session)).toEqual([session]);
    for (const format of historyFormats)
      expect((await readHistory({ fs: readOnly(fs), dir: '/opened', cache, session, format })).text).toBe(
        await printed(session, format),
      );
    await expect(openBundle({ fs, dir: '/opened', bundle: new Uint8Array(readFileSync(file)) })).rejects.toMatchObject({
      code: 'BAD_TARGET',
    });
  });

  describe('a bundle that is refused', () => {
    const make = async (...args: string[]) => {
      const file = join(teddy.repo.root, '.git', 'made.bundle');
      await teddy.repo.git('bundle', 'create', '-q', ...args.slice(0, -1), file, args.at(-1) ?? '');
      return new Uint8Array(readFileSync(file));
    };
    const refuse = async (bundle: Uint8Array, code: string, message: RegExp) => {
      const volume = new Volume();
      const opening = openBundle({ fs: createFsFromVolume(volume), gitdir: '/x', bundle });
      const refused = await opening.then(
        () => null,
        (error: TeddyError) => error,
      );
      expect(refused).toMatchObject({ code, hint: expect.stringMatching(/\S/) as string });
      expect(refused?.message).toMatch(message);
      expect(Object.values(volume.toJSON()).filter((content) => content !== null)).toEqual([]);
    };
    const text = (value: string) => new TextEncoder().encode(value);

    test('is not a bundle, has another format, or needs commits that it does not contain', async () => {
      await refuse(text('PK\u0003\u0004'), 'UNKNOWN_FORMAT', /not a git bundle/);
      await refuse(new Uint8Array(), 'UNKNOWN_FORMAT', /not a git bundle/);
      const sha256 = `# v3 git bundle\n@object-format=sha256\n${'1'.repeat(64)} refs/heads/x\n\nPACK`;
      await refuse(text(sha256), 'UNKNOWN_FORMAT', /SHA256/);
      await refuse(text('# v3 git bundle\n@filter=blob:none\n\nPACK'), 'UNKNOWN_FORMAT', /filter/);
      await refuse(await make('main~1..main'), 'DAMAGED_SESSION', /needs the commit/);
      const outside = `# v2 git bundle\n${'1'.repeat(40)} refs/heads/../../../x\n\nPACK`;
      await refuse(text(outside), 'DAMAGED_SESSION', /header has a line/);
      const whole = await make('main');
      const counted = Uint8Array.from(whole);
      counted.fill(0xff, Buffer.from(whole).indexOf('PACK') + 8, Buffer.from(whole).indexOf('PACK') + 12);
      await refuse(counted, 'DAMAGED_SESSION', /^The bundle cannot be opened: [^\n]{1,120}\.$/);
    });

    test('is cut off anywhere, or has a byte changed anywhere', async () => {
      const whole = await make('main');
      for (let part = 0; part < 24; part += 1) {
        const length = Math.floor((whole.length * part) / 24);
        await refuse(whole.subarray(0, length), length < 16 ? 'UNKNOWN_FORMAT' : 'DAMAGED_SESSION', /./);
        const changed = Uint8Array.from(whole);
        const offset = Math.min(length + 60, whole.length - 1);
        changed[offset] = (changed[offset] ?? 0) ^ 0x41;
        await refuse(changed, 'DAMAGED_SESSION', /./);
      }
    });

    test('was made in a shallow clone', async () => {
      const root = join(teddy.repo.root, '.git', 'shallow-clone');
      await teddy.repo.git('clone', '-q', '--depth=1', '--bare', `file://${teddy.repo.root}`, root);
      const file = join(root, 'cut.bundle');
      await teddy.repo.git('-C', root, 'bundle', 'create', '-q', file, 'HEAD', 'main');
      await refuse(new Uint8Array(readFileSync(file)), 'DAMAGED_SESSION', /cut off/);
    });
  });
});

describe('a damaged repository', () => {
  let teddy: TeddyProject;
  afterEach(() => teddy.close());

  test('a missing or changed object is named, and nothing hangs', async () => {
    teddy = await openTeddyProject();
    const session = await teddy.begin('damage');
    await teddy.plan('Because.', 'Why?');
    const oid = await teddy.repo.git('rev-parse', `HEAD:.teddy/sessions/${session}/01/transcript.jsonl`);
    const path = join(teddy.repo.root, '.git', 'objects', oid.slice(0, 2), oid.slice(2));
    const bytes = readFileSync(path);
    const at = { fs: nodeFs, dir: teddy.repo.root, session };
    nodeFs.rmSync(path);
    const missing = { code: 'DAMAGED_SESSION', message: expect.stringContaining(`${oid} is missing`) as string };
    await expect(readHistory({ ...at, format: 'openai' })).rejects.toMatchObject(missing);
    await expect(readTurn({ ...at, turn: '01' })).rejects.toMatchObject(missing);
    await expect(listSessions(at)).rejects.toMatchObject(missing);
    expect((await readSession(at)).turns).toEqual(['01']);
    for (const damaged of [bytes.subarray(0, 20), Buffer.alloc(64), Buffer.alloc(0)]) {
      writeFileSync(path, damaged);
      await expect(readHistory({ ...at, format: 'openai' })).rejects.toMatchObject({ code: 'DAMAGED_SESSION' });
    }
    writeFileSync(path, bytes);
    expect((await readHistory({ ...at, format: 'openai' })).text).toContain('Because.');
  });
});
