import { createHash } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { KnownRecord } from '../../../src/conversation/records/record.ts';
import { encodeRecord } from '../../../src/conversation/records/transcript.ts';
import type { SourceFile } from '../../../src/ports/disk.ts';
import { decodeEntry } from '../../../src/session/entries/entry.ts';
import { mainLineRef, type RefName } from '../../../src/names.ts';
import { appendRecords } from '../../../src/workflow/line/append-records.ts';
import { verifySession } from '../../../src/workflow/verify/session.ts';
import { importSession, previewImport } from '../../../src/workflow/conversation/import-session.ts';
import { showHistory } from '../../../src/workflow/conversation/show-history.ts';
import { logSession } from '../../../src/workflow/review/log-session.ts';
import { showTurn } from '../../../src/workflow/review/show-turn.ts';
import { readForgotten } from '../../../src/session/entries/cached-rows.ts';
import { memoryProject, withRace, type MemoryProject } from '../../support/memory-repository.ts';
import { storyOf } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const timestamp = '2026-01-20T10:00:00.000Z';
const source = 'import';

function user(id: string, content: string): KnownRecord {
  return { type: 'user', id, timestamp, message: { role: 'user', content }, source };
}

function assistant(id: string, content: string): KnownRecord {
  return { type: 'assistant', id, timestamp, message: { role: 'assistant', content }, source };
}

function exchange(id: string, output: string): KnownRecord[] {
  const tool_call_id = `call-${id}`;
  return [
    {
      type: 'tool_use',
      id: `${id}-use`,
      timestamp,
      tool_call_id,
      tool_name: 'read_file',
      tool_input: { path: 'a.ts' },
    },
    { type: 'tool_result', id: `${id}-result`, timestamp, tool_call_id, output, is_error: false },
  ];
}

const units: KnownRecord[][] = [
  [user('u1', 'Add a login route')],
  exchange('e1', 'export {};'),
  exchange('e2', 'more'),
  [assistant('a1', 'It is there.\n\nWith a test.')],
  [user('u2', 'And a logout')],
  [assistant('a2', 'Done.')],
];
const text = units.flat().map(encodeRecord).join('');

/** `texts`: the text of the first read, the second, ...; the last one from then on. */
function fileOf(...texts: string[]): SourceFile & { reads: number } {
  const file = {
    path: 'logs/chat.jsonl',
    sizeBytes: Buffer.byteLength(texts[0] ?? ''),
    reads: 0,
    read() {
      const all = texts[Math.min(file.reads, texts.length - 1)] ?? '';
      file.reads += 1;
      async function* pieces() {
        for (let at = 0; at < all.length; at += 37) yield { text: all.slice(at, at + 37), bytes: 37 };
      }
      return { pieces: pieces(), sha256: () => createHash('sha256').update(all).digest('hex') };
    },
  };
  return file;
}

/** In one piece. */
function readWhole(all: string): ReturnType<SourceFile['read']> {
  async function* pieces() {
    yield { text: all, bytes: all.length };
  }
  return { pieces: pieces(), sha256: () => createHash('sha256').update(all).digest('hex') };
}

function request(file: SourceFile = fileOf(text), more: { name?: string; signal?: AbortSignal } = {}) {
  return { source: file, signal: new AbortController().signal, ...more };
}

async function refsOf(project: MemoryProject): Promise<string[]> {
  return (await project.repository.store.listRefs('refs/')).map(({ ref, oid }) => `${ref} ${oid}`);
}

describe('an import', () => {
  test('makes a session on HEAD with an entry for each unit, and leaves HEAD and the files alone', async () => {
    const project = await memoryProject();
    const base = await project.tipOf('main');
    const made = await importSession(project, request());
    expect(made).toMatchObject({
      session: '20260124-add-a-login-route',
      line: 'teddy/20260124-add-a-login-route',
      isNew: true,
      format: 'jsonl',
      entries: 6,
      turns: 2,
      maskedSecrets: 0,
    });
    expect(await storyOf(project, made.commit)).toEqual([
      "'First commit'",
      'start',
      'message 01',
      'exchange 01',
      'exchange 01',
      'reply 01',
      'message 02',
      'reply 02',
    ]);
    expect(await project.repository.workspace.head()).toEqual({ ref: 'refs/heads/main', oid: base });
    expect(await project.read('.teddy/memos.yaml')).toBeNull();
    expect(await project.readAt(made.commit, `${made.directory}/01/transcript.jsonl`)).toBe(
      units.slice(0, 4).flat().map(encodeRecord).join(''),
    );
    expect(await project.tipOf(made.line)).toBe(made.commit);
  });

  test('makes the same commits as appending the units one by one', async () => {
    const project = await memoryProject();
    const made = await importSession(project, request());
    const { store } = project.repository;
    const ids: string[] = [];
    let start = made.commit;
    for await (const { oid, commit } of store.firstParents(made.commit)) {
      const entry = decodeEntry(commit.message);
      if (entry?.kind === 'start') start = oid;
      else if (entry) ids.unshift(entry.id);
    }
    await project.setRef(mainLineRef(made.session), start);
    const again = { ...project, ids: { ...project.ids, entryId: () => ids.shift() ?? 'none left' } };
    for (const records of units) await appendRecords(again, { selector: made.session, records });
    expect(await project.tipOf(made.line)).toBe(made.commit);
  });

  test('of the same bytes again changes nothing and names the session, wherever its line is', async () => {
    const project = await memoryProject();
    const made = await importSession(project, request());
    const before = await refsOf(project);
    const again = await importSession(project, request(fileOf(text), { name: 'another' }));
    expect(again).toMatchObject({ session: made.session, line: made.line, isNew: false });
    expect(await refsOf(project)).toEqual(before);
    const { store } = project.repository;
    await store.updateRefs([{ ref: mainLineRef(made.session), old: made.commit, new: null }], 'test');
    for (const ref of [
      `refs/remotes/origin/teddy/${made.session}`,
      `refs/teddy/archive/2026-01/${made.session}`,
    ] as RefName[]) {
      await store.updateRefs([{ ref, old: null, new: made.commit }], 'test');
      expect(await importSession(project, request())).toMatchObject({ session: made.session, isNew: false });
      await store.updateRefs([{ ref, old: made.commit, new: null }], 'test');
    }
    const unread = `refs/teddy/archive/${made.session}` as RefName;
    await store.updateRefs([{ ref: unread, old: null, new: made.commit }], 'test');
    expect((await importSession(project, request())).isNew).toBe(true);
  });

  test('as a dry run reports the contents, counts secrets, and writes nothing', async () => {
    const project = await memoryProject();
    project.secrets.set('hunter2hunter2', 'password');
    const before = await refsOf(project);
    const file = fileOf(`${text}this is no JSON\n${encodeRecord(user('u3', 'It is hunter2hunter2'))}`);
    const preview = await previewImport(project, request(file));
    expect(preview).toMatchObject({ format: 'jsonl', entries: 7, turns: 3, maskedSecrets: 1, known: null });
    expect(preview.report).toMatchObject({ records: 9, skipped: { count: 1, issues: [{ line: 9 }] } });
    expect(file.reads).toBe(1);
    expect(await refsOf(project)).toEqual(before);
  });

  test('masks secrets in messages, inputs, outputs, labels and the name', async () => {
    const project = await memoryProject();
    project.secrets.set('hunter2', 'password');
    const [use, result] = exchange('e1', 'the password is hunter2');
    const said = [user('u1', 'hunter2 is it'), use, result, assistant('a1', 'hunter2')] as KnownRecord[];
    const made = await importSession(project, request(fileOf(said.map(encodeRecord).join(''))));
    expect(made.maskedSecrets).toBe(3);
    expect(made.session).not.toContain('hunter2');
    for await (const { oid, commit } of project.repository.store.firstParents(made.commit)) {
      expect(commit.message).not.toContain('hunter2');
      expect((await project.readAt(oid, `${made.directory}/01/transcript.jsonl`)) ?? '').not.toContain('hunter2');
    }
  });

  test('joins an unanswered message and the next one in one turn; an answer without a message opens turn 01', async () => {
    const project = await memoryProject();
    const records = [assistant('a0', 'Hello.'), user('u1', 'Hm'), user('u2', 'Login'), assistant('a1', 'Yes.')];
    const made = await importSession(project, request(fileOf(records.map(encodeRecord).join(''))));
    const story = (await storyOf(project, made.commit)).slice(2);
    expect(story).toEqual(['reply 01', 'message 02', 'message 02', 'reply 02']);
  });

  test('uses a given name or numbers a taken one, and two simultaneous imports are both kept', async () => {
    const project = await memoryProject();
    await importSession(project, request(fileOf(text), { name: 'Mine too' }));
    const other = encodeRecord(user('x', 'Else'));
    const racing = withRace(project, () => importSession(project, request(fileOf(other), { name: 'third' })));
    const second = fileOf(encodeRecord(user('y', 'More')));
    expect((await importSession(racing, request(second, { name: 'third' }))).session).toBe('20260124-third-2');
    // The doctor would not bring back its first attempt.
    expect((await readForgotten(project.repository.cache)).size).toBe(1);
    const third = fileOf(encodeRecord(user('z', 'More')));
    expect((await importSession(project, request(third, { name: 'mine-too' }))).session).toBe('20260124-mine-too-2');
    await expect(importSession(project, request(fileOf(text), { name: '???' }))).rejects.toMatchObject({
      code: 'BAD_NAME',
    });
  });

  slowTest('running twice at the same time makes one session, which the second import names', async () => {
    const project = await memoryProject();
    let first: Awaited<ReturnType<typeof importSession>> | null = null;
    const racing = withRace(project, async () => {
      first = await importSession(project, request());
    });
    const second = await importSession(racing, request(fileOf(text), { name: 'another' }));
    expect(first).toMatchObject({ isNew: true, session: '20260124-add-a-login-route' });
    expect(second).toMatchObject({ isNew: false, session: '20260124-add-a-login-route' });
    expect((await readForgotten(project.repository.cache)).size).toBe(1);
    const lines = await project.repository.store.listRefs('refs/heads/teddy/2*');
    expect(lines.map(({ ref }) => ref)).toEqual(['refs/heads/teddy/20260124-add-a-login-route']);
  });

  slowTest(
    'running many times at once makes one session for each source, even after earlier imports were deleted',
    async () => {
      const project = await memoryProject();
      const sources = [text, encodeRecord(user('x', 'One')), encodeRecord(user('y', 'Two'))];
      // Each has its own name, so no two of them meet at the branch.
      const importAll = () =>
        Promise.all(
          [...sources, ...sources, ...sources].map((one, at) =>
            importSession(project, request(fileOf(one), { name: `log-${at}` })),
          ),
        );
      for (let round = 1; round <= 2; round += 1) {
        const all = await importAll();
        expect(all.filter(({ isNew }) => isNew)).toHaveLength(sources.length);
        expect(new Set(all.map(({ session }) => session)).size).toBe(sources.length);
        const lines = await project.repository.store.listRefs('refs/heads/teddy/2*');
        expect(lines).toHaveLength(sources.length);
        await project.repository.store.updateRefs(
          lines.map(({ ref, oid }) => ({ ref, old: oid, new: null })),
          'test',
        );
      }
    },
  );

  slowTest(
    'splits a long turn into entries of many units, with their counts; a dry run counts the same',
    async () => {
      const project = await memoryProject();
      const secret = 'hunter2'.repeat(6000);
      project.secrets.set(secret, 'password');
      const said = [
        user('u', 'Go'),
        ...Array.from({ length: 64 }, (_, at) =>
          exchange(`e${at}`, at % 8 === 0 ? secret : 'x'.repeat(100_000)),
        ).flat(),
        assistant('a', 'Done.'),
      ];
      const all = said.map(encodeRecord).join('');
      const file = () => ({ ...fileOf(all), read: () => readWhole(all) });
      const preview = await previewImport(project, request(file()));
      const made = await importSession(project, request(file()));
      const story = (await storyOf(project, made.commit)).slice(2);
      expect(story).toHaveLength(made.entries);
      expect(preview).toMatchObject({ entries: made.entries, maskedSecrets: 8 });
      expect(made).toMatchObject({ turns: 1, maskedSecrets: 8 });
      expect(made.entries).toBeGreaterThan(30);
      expect(made.entries).toBeLessThan(64);
      expect([story[0], story.at(-1)]).toEqual(['message 01', 'reply 01']);
      const tip = await project.readAt(made.commit, `${made.directory}/01/transcript.jsonl`);
      expect(tip).toBe(all.replaceAll(secret, '[masked: password]'));
      const titles: string[] = [];
      const details: string[] = [];
      for await (const { commit } of project.repository.store.firstParents(made.commit)) {
        const entry = decodeEntry(commit.message);
        if (entry?.kind === 'exchange') titles.push(entry.title);
        if (entry?.title === '2 exchanges') details.push(...entry.details);
      }
      const counts = titles.map((title) =>
        title === 'call read_file' ? 1 : Number(/^(\d+) exchanges$/.exec(title)?.[1]),
      );
      expect(counts.reduce((sum, one) => sum + one, 0)).toBe(64);
      expect(details.slice(0, 2)).toEqual(['exchange: call read_file', 'exchange: call read_file']);
    },
    60_000,
  );

  test('uses the file’s name if it finds none in the file', async () => {
    const project = await memoryProject();
    const sessionOf = async (said: string) =>
      (await importSession(project, request(fileOf(encodeRecord(user('u', said)))))).session;
    expect(await sessionOf('!?')).toBe('20260124-chat');
    expect(await sessionOf('登录')).toBe('20260124-登录');
  });

  slowTest('publishes nothing if the source changes while it is read, or if it is interrupted', async () => {
    const project = await memoryProject();
    await importSession(project, request(fileOf(encodeRecord(user('u', 'first')))));
    const before = await refsOf(project);
    const changing = fileOf(text, `${text}\n`);
    await expect(importSession(project, request(changing))).rejects.toMatchObject({ code: 'FILE_MODIFIED' });
    const controller = new AbortController();
    const interrupted = {
      ...request(fileOf(text), { signal: controller.signal }),
      onProgress: ({ phase }: { phase: string }) => phase === 'writing' && controller.abort(),
    };
    await expect(importSession(project, interrupted)).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(await refsOf(project)).toEqual(before);
    expect((await importSession(project, request())).isNew).toBe(true);
  });

  test.each([
    ['', 'NOTHING_TO_IMPORT'],
    [' \n\n', 'NOTHING_TO_IMPORT'],
    ['{"type":"tool_result","tool_call_id":"x","output":"of no call"}', 'NOTHING_TO_IMPORT'],
    ['Dear diary\n', 'UNKNOWN_FORMAT'],
  ])('refuses %j with %s', async (content, code) => {
    const project = await memoryProject();
    const before = await refsOf(project);
    await expect(importSession(project, request(fileOf(content)))).rejects.toMatchObject({ code });
    expect(await refsOf(project)).toEqual(before);
  });

  slowTest('of a jsonl export has the same history', async () => {
    const project = await memoryProject();
    const made = await importSession(project, request());
    const first = await showHistory(project, { target: made.session, format: 'jsonl' });
    expect(first.text.split('\n').length).toBe(units.flat().length + 1);
    const again = await importSession(project, request(fileOf(first.text + '\n'), { name: 'again' }));
    const second = await showHistory(project, { target: again.session, format: 'jsonl' });
    expect(again.session).not.toBe(made.session);
    expect(second.text).toBe(first.text);
  });
});

describe('the contents of a log', () => {
  const signal = new AbortController().signal;

  test('can be imported in the right format after an import in a wrong one', async () => {
    const project = await memoryProject();
    const chat = `${JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }], type: 'user', message: { role: 'user', content: 'Ho' } })}\n`;
    const as = (format: 'openai' | 'jsonl') => importSession(project, { source: fileOf(chat), format, signal });
    const wrong = await as('openai');
    const right = await as('jsonl');
    expect([wrong.isNew, right.isNew, wrong.session === right.session]).toEqual([true, true, false]);
    expect([(await as('openai')).line, (await as('jsonl')).line]).toEqual([wrong.line, right.line]);
    expect((await as('jsonl')).isNew).toBe(false);
    expect((await previewImport(project, { source: fileOf(chat), format: 'jsonl', signal })).known?.line).toBe(
      right.line,
    );
  });

  test('have a compaction summary in the history, which answers nobody and is counted', async () => {
    const project = await memoryProject();
    const lines = [
      { type: 'user', message: { role: 'user', content: 'First' } },
      { type: 'user', isCompactSummary: true, message: { role: 'user', content: 'They said First.' } },
      { type: 'assistant', message: { role: 'assistant', id: 'm', content: [{ type: 'text', text: 'Answered.' }] } },
      { type: 'user', isCompactSummary: true, message: { role: 'user', content: 'It was answered.' } },
      { type: 'user', message: { role: 'user', content: 'Second' } },
    ].map((line, at) => JSON.stringify({ ...line, uuid: `u${at}`, sessionId: 's', timestamp }));
    const imported = await importSession(project, { source: fileOf(lines.join('\n')), format: 'claude-code', signal });
    expect(imported).toMatchObject({ turns: 2, report: { summaries: 2, records: 5 } });
    const { messages } = await showHistory(project, { format: 'markdown', target: imported.session });
    expect(String(messages).match(/The conversation was compacted here/g)).toHaveLength(2);
    expect(String(messages)).toContain('They said First.');
    const turn = await showTurn(project, { selector: imported.session, turn: '01' });
    expect(turn).toMatchObject({ reply: 'Answered.', messages: ['First'] });
    expect(JSON.stringify(turn.said)).toContain('It was answered.');
    const log = await logSession(project, imported.session);
    expect(JSON.stringify(log).match(/"note: \[The conversation was compacted here/g)).toHaveLength(2);
  });
});

describe('a prompt that the user withdrew', () => {
  const signal = new AbortController().signal;
  const prompt = (uuid: string, parentUuid: string | null) => ({
    type: 'user',
    uuid,
    parentUuid,
    message: { role: 'user', content: uuid },
  });
  const answer = (uuid: string, parentUuid: string) => ({
    type: 'assistant',
    uuid,
    parentUuid,
    message: { role: 'assistant', id: uuid, content: [{ type: 'text', text: uuid }] },
  });
  const fileWith = (lines: object[]) =>
    fileOf(lines.map((line) => `${JSON.stringify({ ...line, sessionId: 's', timestamp })}\n`).join(''));
  const session = '20260124-u1';
  const branch = (turn: string) => `teddy/${session}--${turn}`;
  const first = [prompt('u1', null), answer('a1', 'u1')];

  async function faultsOf(project: MemoryProject): Promise<unknown[]> {
    const { lines } = await verifySession(project, { all: true, fsck: false });
    expect(lines.length).toBeGreaterThan(1);
    return lines.flatMap(({ violations }) => violations);
  }

  slowTest('is on a conversation branch before its turn, and one update shows it with the main line', async () => {
    const project = await memoryProject();
    const abandoned = [
      prompt('u2', 'a1'),
      answer('a2', 'u2'),
      prompt('u3', 'a2'),
      prompt('u4', 'a2'),
      answer('a4', 'u4'),
    ];
    const lines = [
      ...first,
      ...abandoned,
      prompt('u5', 'a1'),
      answer('a5', 'u5'),
      prompt('u6', 'a1'),
      answer('a6', 'u6'),
    ];
    const source = fileWith(lines);
    const preview = await previewImport(project, { source, signal });
    const updates: string[][] = [];
    const { store } = project.repository;
    const watching = {
      ...project,
      repository: {
        ...project.repository,
        store: {
          ...store,
          updateRefs: (...args: Parameters<typeof store.updateRefs>) => {
            updates.push(args[0].map(({ ref }) => ref).filter((ref) => ref.includes(session)));
            return store.updateRefs(...args);
          },
        },
      },
    };
    const made = await importSession(watching, { source, signal });
    expect(made).toMatchObject({ session, entries: 4, turns: 2, report: { lines: 11, records: 4 } });
    const attempts = [
      { sourceLine: 3, line: branch('02-branch-01'), turn: '02-branch-01', entries: 4, turns: 2, records: 4 },
      { sourceLine: 5, line: branch('03-branch-01'), turn: '03-branch-01', entries: 1, turns: 1, records: 1 },
      { sourceLine: 8, line: branch('02-branch-02'), turn: '02-branch-02', entries: 2, turns: 1, records: 2 },
    ];
    expect([made.abandoned, preview.abandoned]).toEqual([attempts, attempts]);
    expect(updates.filter(({ length }) => length > 0)).toEqual([
      [made.line, ...attempts.map((one) => one.line)].map((line) => `refs/heads/${line}`),
    ]);
    const story = async (line: string) => (await storyOf(project, await project.tipOf(line))).slice(2);
    expect(await story(made.line)).toEqual(['message 01', 'reply 01', 'message 02', 'reply 02']);
    const second = ['branch 02-branch-01', 'message 02-branch-01', 'reply 02-branch-01'];
    expect(await story(branch('02-branch-01'))).toEqual([
      'message 01',
      'reply 01',
      ...second,
      'message 03',
      'reply 03',
    ]);
    expect(await story(branch('03-branch-01'))).toEqual([
      'message 01',
      'reply 01',
      ...second,
      'branch 03-branch-01',
      'message 03-branch-01',
    ]);
    expect((await story(branch('02-branch-02'))).slice(2, 4)).toEqual(['branch 02-branch-02', 'message 02-branch-02']);
    expect(await faultsOf(project)).toEqual([]);
    const before = await refsOf(project);
    expect(await importSession(project, { source, signal })).toMatchObject({ isNew: false, abandoned: attempts });
    expect(await refsOf(project)).toEqual(before);
  });

  test('may be the very first prompt, or one in an unanswered turn, which the branch then repeats', async () => {
    for (const lines of [
      [...first, prompt('u2', null), answer('a2', 'u2')],
      [prompt('u1', null), prompt('u2', 'u1'), answer('a2', 'u2'), prompt('u3', 'u1'), answer('a3', 'u3')],
    ]) {
      const project = await memoryProject();
      const made = await importSession(project, { source: fileWith(lines), name: 'u1', signal });
      expect(made.abandoned).toMatchObject([{ line: branch('01-branch-01') }]);
      const story = (await storyOf(project, await project.tipOf(branch('01-branch-01')))).slice(1);
      expect(story.slice(0, 3)).toEqual(['start', 'branch 01-branch-01', 'message 01-branch-01']);
      expect(await faultsOf(project)).toEqual([]);
    }
  });
});
