/** A page as a file: the same bytes wherever the commits are, and any changed byte is detected. */
import fc from 'fast-check';
import { beforeAll, describe, expect } from 'vitest';
import type { Project } from '../../../src/ports/project.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { makePageFile, verifyPageFile } from '../../../src/workflow/page/page-file.ts';
import { given } from '../../support/given.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { runs } from '../../support/runs.ts';
import { propertyTest, quickTest as test, slowTest } from '../../support/slow-test.ts';
import { create, line, say, session, start, turn } from '../../support/turns.ts';

const version = '1.2.3';
let project: MemoryProject;
let bytes: Uint8Array;
let text: string;

beforeAll(async () => {
  project = await given.session();
  await turn(project, 'Make one & "two"', create('one.txt', 'new\n'));
  await say(project, 'Tell me', 'Words.');
  await branchSession(project, { turn: '02', switch: false });
  ({ bytes } = await makePageFile(project, undefined, version));
  text = new TextDecoder().decode(bytes);
});

const twice = ['x', 'y'].map((name) => ({ name, tip: 'a'.repeat(40) }));
const many = Array.from({ length: 2001 }, (_, at) => ({ name: 'x', tip: String(at).padStart(40, '0') }));

function verify(of: Uint8Array | string, by: Project = project) {
  const given = typeof of === 'string' ? new TextEncoder().encode(of) : of;
  return verifyPageFile(by, { name: 'page.html', bytes: given }, version);
}

/** `from` occurs; its first occurrence becomes `to`. */
function replaced(from: string, to: string): string {
  expect(text).toContain(from);
  return text.replace(from, () => to);
}

describe('verifying a page', () => {
  test("succeeds with the page's source, even after the line has continued", async () => {
    const tip = await project.tipOf(line);
    expect(await verify(bytes)).toMatchObject({ outcome: 'same', session, version, difference: null });
    const own = await memoryProject();
    await start(own);
    await turn(own, 'One', create('one.txt'));
    const page = await makePageFile(own, undefined, version);
    await turn(own, 'Two', create('two.txt'));
    await branchSession(own, { turn: '01', switch: true });
    const verified = await verify(page.bytes, own);
    expect(verified.outcome).toBe('same');
    expect(verified.commits).toEqual([page.page.source.lines[0]?.tip]);
    expect(await project.tipOf(line)).toBe(tip);
  });

  test('names the turn and the part that first differ', async () => {
    expect(await verify(replaced('Words.', 'Swords'))).toMatchObject({
      outcome: 'different',
      difference: { turn: '02', part: expect.stringMatching(/^t02/), line: expect.any(Number), hasMasks: false },
    });
    const { difference } = await verify(replaced('<title>', '<title>A '));
    expect(difference).toMatchObject({ turn: null, part: null });
    expect(text.split('\n')[(difference?.line ?? 0) - 1]).toContain('<title>');
    expect((await verify(`${text}\n`)).outcome).toBe('different');
    expect((await verify(text.slice(0, -1))).outcome).toBe('different');
  });

  test('reports if one of the two has a mask', async () => {
    const { difference } = await verify(replaced('Words.', '[masked: env TOKEN]'));
    expect(difference).toMatchObject({ turn: '02', hasMasks: true });
  });

  propertyTest('finds any changed byte in the page', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (at, by) => {
        const changed = bytes.slice();
        changed[at] = (changed[at] ?? 0) ^ by;
        const outcome = await verify(changed).then(
          (verified) => verified.outcome,
          (error: { code: string }) => error.code,
        );
        expect(['different', 'other-version', 'USAGE', 'UNKNOWN_COMMIT', 'DAMAGED_SESSION']).toContain(outcome);
      }),
      runs(100),
    );
  });

  slowTest('finds any changed byte in its source', async () => {
    const start = text.indexOf('<meta name="teddy-source"');
    const end = text.indexOf('<title>');
    const offset = new TextEncoder().encode(text.slice(0, start)).length;
    for (let at = 0; at < end - start; at += 1) {
      const changed = bytes.slice();
      changed[offset + at] = (changed[offset + at] ?? 0) ^ 1;
      const outcome = await verify(changed).then(
        (verified) => verified.outcome,
        (error: { code: string }) => error.code,
      );
      expect(outcome, `byte ${at} of the source`).not.toBe('same');
    }
  });
});

describe('a page is not verified', () => {
  test('if another version made it', async () => {
    const verified = await verify(replaced('content="git-teddy 1.2.3"', 'content="git-teddy 9.9.9"'));
    expect(verified).toMatchObject({ outcome: 'other-version', version: '9.9.9', difference: null });
  });

  test('if its commits are not here', async () => {
    await expect(verify(bytes, await memoryProject())).rejects.toMatchObject({
      code: 'UNKNOWN_COMMIT',
      hint: expect.stringContaining('teddy pull <remote>'),
    });
  });

  test('if one of its commits is outside the session', async () => {
    const tip = await project.tipOf(line);
    const main = await project.tipOf('main');
    await expect(verify(text.replaceAll(tip, main))).rejects.toMatchObject({
      code: 'UNKNOWN_COMMIT',
      message: `The page was made from ${main.slice(0, 10)}, which is not a commit in ${session}.`,
    });
  });

  test.each([
    ['nothing', ''],
    ['another page', '<!doctype html><title>x</title>'],
    [
      'a source without an end',
      '<meta name="generator" content="git-teddy 1.2.3"><meta name="teddy-source" content="{',
    ],
    ['another generator', '<meta name="generator" content="other"><meta name="teddy-source" content="{}">'],
    ['no lines', toHead({ session: '20260124-x', line: 'x', lines: [], landed: [] })],
    ['no session', toHead({ session: '../x', line: 'x', lines: [{ name: 'x', tip: 'a'.repeat(40) }], landed: [] })],
    [
      'a name in place of a commit',
      toHead({ session: '20260124-x', line: 'x', lines: [{ name: 'x', tip: 'HEAD' }], landed: [] }),
    ],
    [
      'an option in place of a commit',
      toHead({ session: '20260124-x', line: 'x', lines: [{ name: 'x', tip: '--all' }], landed: [] }),
    ],
    ['lists in lists', toHead(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)],
    ['the same commit twice', toHead({ session: '20260124-x', line: 'x', lines: twice, landed: [] })],
    ['more lines than allowed', toHead({ session: '20260124-x', line: 'x', lines: many, landed: [] })],
    ['a null', toHead({ session: '20260124-x', line: 'x', lines: [null], landed: [null] })],
    ['bytes that are not text', new Uint8Array(100_000).fill(0xff)],
    ['several starts of a source', '<meta name="teddy-source" content="'.repeat(200_000)],
  ])('if it is malformed: %s', async (_, given) => {
    await expect(verify(given)).rejects.toMatchObject({ code: 'USAGE', hint: expect.stringContaining('--html') });
  });
});

function toHead(source: string | object): string {
  const json = (typeof source === 'string' ? source : JSON.stringify(source)).replaceAll('"', '&quot;');
  return `<meta name="generator" content="git-teddy 1.2.3"><meta name="teddy-source" content="${json}">`;
}
