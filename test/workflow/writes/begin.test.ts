import { describe, expect, test } from 'vitest';
import { appendWrite } from '../../../src/workflow/writes/append.ts';
import { beginWrite, type WriteRequest } from '../../../src/workflow/writes/begin.ts';
import { cancelWrite } from '../../../src/workflow/writes/clean.ts';
import { findWrite, listWrites } from '../../../src/workflow/writes/list.ts';
import { given } from '../../support/given.ts';
import {} from '../../support/turns.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const wish = (more: Partial<WriteRequest> = {}): WriteRequest => ({
  intent: 'A guide',
  target: 'docs/guide.md',
  operation: 'create',
  hasController: false,
  ...more,
});

describe('begin', () => {
  test('makes a session that waits for content, and explains how that ends', async () => {
    const project = await given.session();
    const begun = await beginWrite(project, wish());
    expect(begun).toMatchObject({
      record: { target: 'docs/guide.md', operation: 'create', base: null, endMarker: 'DONE', hasController: false },
      state: { phase: 'awaiting_content', size: 0 },
      instructions: 'Now output content. End with DONE on its own line.',
      warnings: [],
    });
    expect(begun.record.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(await findWrite(project, begun.record.id)).toMatchObject({ status: 'active', stage: 'awaiting_content' });
  });

  test('stores a secret from the intent nowhere', async () => {
    const project = await given.session();
    project.secrets.set('hunter2', 'password');
    await beginWrite(project, wish({ intent: 'Explain hunter2' }));
    expect(await listWrites(project)).toMatchObject([{ record: { intent: 'Explain [masked: password]' } }]);
  });

  test.each([
    ['the target before the operation', { target: ' ', operation: 'replace' }, 'Target file path is required.'],
    [
      'an unknown operation',
      { operation: 'replace' },
      "Invalid operation type. Must be 'create', 'overwrite', or 'append'.",
    ],
    [
      'a path leading out of the project',
      { target: '../x' },
      '../x cannot be written: it leaves the project with `..`.',
    ],
    [
      'a path outside the project',
      { target: '/etc/passwd' },
      '/etc/passwd cannot be written: it is outside the project.',
    ],
    ['a path that is absolute only on a web page', { target: '/docs/guide.md' }, 'outside the project'],
    ['a path in a directory with a longer name', { target: '/project-2/guide.md' }, 'outside the project'],
    ['a path above the root', { target: '/project/../guide.md' }, 'cannot be written'],
    ['a path in .git', { target: '.git/config' }, '.git/config cannot be written: it is inside `.git`.'],
    ['a directory', { target: 'src' }, 'src cannot be written: it is a directory.'],
    ['a create of an existing file', { target: 'README.md' }, 'README.md exists already.'],
    [
      'a name that macOS treats as the same',
      { target: 'readme.md' },
      'beside `README.md`, whose name differs only in case',
    ],
    ['an append to a missing file', { operation: 'append' }, 'There is no docs/guide.md to append to.'],
  ])('refuses %s, and begins nothing', async (_, more, message) => {
    const project = await given.session({ 'README.md': 'x\n', 'src/a.ts': 'a\n' });
    await expect(beginWrite(project, wish(more))).rejects.toThrow(message);
    expect(await listWrites(project)).toEqual([]);
  });

  test.each(['/project/docs/guide.md', './docs//guide.md', 'docs/x/../guide.md', '/project/./docs/guide.md'])(
    'reads the target as a path from the root: %s',
    async (target) => {
      const project = await given.session();
      expect((await beginWrite(project, wish({ target }))).record.target).toBe('docs/guide.md');
    },
  );

  test('creates a missing file for an overwrite, with a warning', async () => {
    const project = await given.session();
    const { record, warnings } = await beginWrite(project, wish({ operation: 'overwrite' }));
    expect(record.base).toBeNull();
    expect(warnings).toEqual(['There is no docs/guide.md yet; it will be created.']);
  });

  test('records the existing file as the base: its hash, endings, last newline and mark', async () => {
    const project = await given.session({ 'a.txt': '\uFEFFone\r\ntwo' });
    const { record } = await beginWrite(project, wish({ target: 'a.txt', operation: 'append' }));
    expect(record.base).toMatchObject({
      sha256: project.hash('\uFEFFone\r\ntwo'),
      size: 11,
      lineEndings: 'crlf',
      finalNewline: false,
      bom: true,
    });
  });

  test('uses a special marker if the target has a line DONE, or on request', async () => {
    const project = await given.session({ 'a.txt': 'one\nDONE\ntwo\n' });
    const first = await beginWrite(project, wish({ target: 'a.txt', operation: 'overwrite' }));
    expect(first.record.endMarker).toBe(`DONE-${first.record.id.slice(0, 8)}`);
    expect(first.instructions).toBe(`Now output content. End with ${first.record.endMarker} on its own line.`);
    await cancelWrite(project, first.record.id);
    const other = await beginWrite(project, wish({ ownMarker: true }));
    expect(other.record.endMarker).toMatch(/^DONE-[0-9a-f]{8}$/);
  });

  test('allows one active session at a time, and a cancelled one frees the slot', async () => {
    const project = await given.session();
    const { record } = await beginWrite(project, wish());
    await expect(beginWrite(project, wish({ target: 'b.md' }))).rejects.toMatchObject({
      code: 'WRITE_ACTIVE',
      message: 'Another write session is already active. Please wait for it to complete.',
    });
    await cancelWrite(project, record.id);
    await expect(findWrite(project, record.id)).rejects.toMatchObject({ code: 'UNKNOWN_WRITE' });
    await beginWrite(project, wish({ target: 'b.md' }));
  });

  test('refuses a partly staged file', async () => {
    const project = await given.session();
    const target = 'read me.md';
    await project.write({ [target]: 'staged\n' });
    await project.stage(target);
    await project.write({ [target]: 'edited\n' });
    await expect(beginWrite(project, wish({ target, operation: 'overwrite' }))).rejects.toMatchObject({
      code: 'PARTIALLY_STAGED',
      hint: "Commit it, stage all of it (`git add 'read me.md'`), or unstage it (`git restore --staged 'read me.md'`).",
    });
  });
});

describe('append', () => {
  const open = async () => {
    const project = await given.session();
    const { record } = await beginWrite(project, wish());
    return { project, id: record.id };
  };

  test('takes bytes in order, and ignores repeated ones', async () => {
    const { project, id } = await open();
    expect(await appendWrite(project, { id, bytes: bytes('one') })).toEqual({ size: 3, added: 3 });
    expect(await appendWrite(project, { id, offset: 3, bytes: bytes('two') })).toEqual({ size: 6, added: 3 });
    expect(await appendWrite(project, { id, offset: 3, bytes: bytes('two') })).toEqual({ size: 6, added: 0 });
    expect(await appendWrite(project, { id, offset: 4, bytes: bytes('wo, more') })).toEqual({ size: 12, added: 6 });
    expect(Buffer.from((await project.writes.readContent(id))?.verified ?? []).toString()).toBe('onetwo, more');
  });

  test('refuses a gap, or other bytes, with the expected offset', async () => {
    const { project, id } = await open();
    await appendWrite(project, { id, bytes: bytes('one') });
    const refused = { code: 'OFFSET_MISMATCH', expected: 3 };
    await expect(appendWrite(project, { id, offset: 4, bytes: bytes('x') })).rejects.toMatchObject(refused);
    await expect(appendWrite(project, { id, offset: 1, bytes: bytes('xx') })).rejects.toMatchObject(refused);
    expect((await findWrite(project, id)).size).toBe(3);
  });

  test('accepts content up to the limit, and not one byte more', async () => {
    const { project, id } = await open();
    project.configuration.set('teddy.write.maxBytes', '10');
    await appendWrite(project, { id, bytes: bytes('0123456789') });
    await expect(appendWrite(project, { id, bytes: bytes('x') })).rejects.toMatchObject({ code: 'CONTENT_TOO_LARGE' });
    expect((await findWrite(project, id)).size).toBe(10);
  });

  test('refuses a session that has expired without activity, and its content stays', async () => {
    const { project, id } = await open();
    await appendWrite(project, { id, bytes: bytes('one') });
    // Each look at the clock in these tests is a second later than the one before.
    project.writeLimits.idleExpiryMs = 1;
    expect(await findWrite(project, id)).toMatchObject({ status: 'failed', stage: 'expired', size: 3 });
    await expect(appendWrite(project, { id, bytes: bytes('x') })).rejects.toMatchObject({
      code: 'UNKNOWN_WRITE',
      message: 'Session not found or expired. Please start a new write session.',
    });
    await beginWrite(project, wish({ target: 'other.md' }));
  });

  test.each(['x', '../../x', '00000000-0000-4000-8000-000000000000'])('rejects %s as a session', async (id) => {
    const { project } = await open();
    await expect(appendWrite(project, { id, bytes: bytes('x') })).rejects.toMatchObject({ code: 'UNKNOWN_WRITE' });
  });
});
