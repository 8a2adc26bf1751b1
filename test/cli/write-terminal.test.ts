/** `teddy write` at a terminal: what is asked, and what becomes of the answers. */
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ctrlC, type TerminalRun } from '../support/run-in-terminal.ts';

let project: MemoryTeddy;

beforeEach(async () => {
  project = await openMemoryTeddy();
});

afterEach(() => project.close());

function inTerminal(...args: string[]): TerminalRun {
  return project.inTerminal(args);
}

const begins = 'Now output content. End with DONE on its own line.';
const recover = 'Recover previous write session? [Y,n,q,?] ';
const ways = 'What now? [f,s,o,d,q,?] ';

/** Leaves a stream that ended without DONE. */
async function interrupted(target: string, content: string): Promise<string> {
  const stream = ['write', 'stream', '--target', target, '--operation', 'create'];
  const cut = await project.run(stream, { stdin: content, asProcess: true });
  expect(cut.exitCode).toBe(1);
  return /write recover (\S+) /.exec(cut.stderr)?.[1] ?? '';
}

const sessions = async () =>
  (JSON.parse(await project.ok('write', 'list', '--json')) as { sessions: { session_id: string; stage: string }[] })
    .sessions;
const stages = async () => (await sessions()).map(({ stage }) => stage);

describe('at a terminal', () => {
  test('a content in which something was found can be sent again as a whole', async () => {
    const run = inTerminal('write', 'stream', '--target', 'a.json', '--operation', 'create');
    await run.play(
      [begins, '{\nDONE\n'],
      ['Send the whole content again? [Y/n] ', '\n', '1. syntax, line '],
      ['Send the whole content again, and end it as before.', '{ "a": 1 }\nDONE\n'],
    );
    expect(await run.exitCode).toBe(0);
    expect(await project.repo.read('a.json')).toBe('{ "a": 1 }\n');
    expect(run.text()).toMatch(/^a\.json [0-9a-f]{10}$/m);
  });

  test('whoever does not want to send it again is told how to go on, and what was sent is kept', async () => {
    const run = inTerminal('write', 'stream', '--target', 'a.json', '--operation', 'create');
    await run.play([begins, '{\nDONE\n'], ['[Y/n] ', 'n\n']);
    expect(await run.exitCode).toBe(1);
    expect(run.text()).toContain('[VALIDATION_FAILED]');
    expect(run.text().match(/1\. syntax/g)).toHaveLength(1);
    expect(await project.ok('write', 'recover', '--show')).toBe('{\n');
  });

  test('what is pasted at a question is no answer to it', async () => {
    await interrupted('left.txt', 'left\n');
    const run = inTerminal('write', 'begin', '--target', 'a.txt', '--operation', 'create', '--intent', 'A test');
    await run.play([recover, 'first line\n'], ['q  leave it, and stop here', 'n\n']);
    expect(await run.exitCode).toBe(0);
    expect(await stages()).toEqual(['orphaned', 'awaiting_content']);
  });

  test('the question comes again until it is answered, and Enter says yes', async () => {
    await interrupted('left.txt', 'left\n');
    const begin = (target: string) =>
      inTerminal('write', 'begin', '--target', target, '--operation', 'create', '--intent', 'A test');
    for (const key of [ctrlC, '\u0004', 'q\n']) {
      const run = begin('a.txt');
      await run.play([recover, key]);
      await run.exitCode;
      for (const { session_id: id, stage } of await sessions())
        if (stage === 'awaiting_content') await project.ok('write', 'cancel', id);
    }
    const put = begin('a.txt');
    await put.play([recover, '\n'], [ways, 'q\n']);
    expect(await put.exitCode).toBe(0);
    const answered = begin('b.txt');
    await answered.play([recover, 'n\n']);
    await answered.exitCode;
    const last = begin('c.txt');
    await last.exitCode;
    expect(last.text()).not.toContain(recover);
  });

  test('what is pasted for a stream is its content, also where another one was interrupted', async () => {
    await interrupted('left.txt', 'left\n');
    const run = inTerminal('write', 'stream', '--target', 'a.txt', '--operation', 'create');
    run.press('first\nsecond\nDONE\n');
    expect(await run.exitCode).toBe(0);
    expect(run.text()).toContain('A write session was interrupted');
    expect(await project.repo.read('a.txt')).toBe('first\nsecond\n');
  });

  test('a committed session is nothing to recover', async () => {
    const done = await project.run(['write', 'stream', '--target', 'a.txt', '--operation', 'create'], {
      stdin: 'a\nDONE\n',
    });
    expect(done.exitCode).toBe(0);
    const { sessions } = JSON.parse(await project.ok('write', 'list', '--json')) as {
      sessions: { session_id: string }[];
    };
    for (const way of [[], ['--finalize'], ['--output', 'out.txt'], ['--discard'], ['--show']]) {
      const { exitCode, stderr } = await project.run(['write', 'recover', sessions[0]?.session_id ?? '', ...way]);
      expect({ exitCode, stderr }).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('It is committed already.') as string,
      });
    }
  });

  test('a line that the terminal has cut is refused, and nothing is written', async () => {
    const run = inTerminal('write', 'stream', '--target', 'a.txt', '--operation', 'create');
    await run.play([begins, `${'x'.repeat(6000)}\n`]);
    run.press('DONE\n');
    expect(await run.exitCode).toBe(1);
    expect(run.text()).toContain('A line is longer than the terminal accepts (4095 bytes), and was cut off.');
    expect(await project.repo.list('.')).not.toContain('a.txt');
  });

  test('three contents in which the same is found end it: no fourth one is asked for', async () => {
    const run = inTerminal('write', 'stream', '--target', 'a.json', '--operation', 'create');
    await run.play([begins, '{\nDONE\n']);
    await run.waitFor('[Y/n] ');
    for (let tries = 0; tries < 2; tries += 1) {
      run.press('y\n');
      await run.play(['as before.', '{\nDONE\n']);
      if (tries === 0) await run.waitFor('[Y/n] ');
    }
    expect(await run.exitCode).toBe(1);
    expect(run.text()).toMatch(
      /error: Content validation failed: .* \(3 validations failed\)\. Please fix and try again\./s,
    );
    expect(await stages()).toEqual(['failed']);
  });

  test('a content of less than half of the old is asked about, and no writes nothing', async () => {
    await project.repo.commit({ 'long.txt': 'a line of the old text\n'.repeat(100) });
    const wish = ['--target', 'long.txt', '--operation', 'overwrite', '--intent', 'Shorter'];
    const id = (await project.ok('write', 'begin', ...wish)).trim();
    await project.run(['write', 'append', id], { stdin: 'short\n' });
    const question = 'The new content is less than half as long as the old. Write it anyway? [y/N] ';
    const no = inTerminal('write', 'finalize', id);
    await no.play([question, '\n']);
    expect(await no.exitCode).toBe(1);
    expect(await project.repo.read('long.txt')).toContain('a line of the old text');
    const yes = inTerminal('write', 'finalize', id);
    await yes.play([question, 'y\n']);
    expect(await yes.exitCode).toBe(0);
    expect(await project.repo.read('long.txt')).toBe('short\n');
  });

  test('Ctrl-C saves what was typed, and exits with 130', async () => {
    const run = inTerminal('write', 'stream', '--target', 'a.txt', '--operation', 'create');
    await run.play(
      [begins, 'typed\n'],
      ["If you're finished, reply DONE on its own line. Otherwise continue writing.", ctrlC],
    );
    expect(await run.exitCode).toBe(130);
    expect(await project.ok('write', 'recover', '--show')).toBe('typed\n');
  });

  test('an interrupted session is offered before another command, and finished there', async () => {
    await interrupted('a.txt', 'one\n');
    const run = inTerminal('session', 'new', 'other', '--no-switch');
    await run.play(
      [recover, '?\n', 'create a.txt, 4 bytes, '],
      [recover, 'y\n', 'q  leave it, and stop here'],
      [ways, 's\n'],
      [ways, 'f\n', 'one\n'],
    );
    expect(await run.exitCode).toBe(0);
    expect(await project.repo.read('a.txt')).toBe('one\n');
    expect(run.text()).toContain('.teddy/sessions/');
  });

  test('no goes on with the command at once, and leaves the session for another time', async () => {
    await interrupted('a.txt', 'one\n');
    const run = inTerminal('session', 'new', 'other', '--no-switch');
    await run.play([recover, 'n\n']);
    expect(await run.exitCode).toBe(0);
    expect(run.text().split(recover)).toHaveLength(2);
    expect(await stages()).toEqual(['orphaned']);
  });

  test.each([
    ['q', 'q\n'],
    ['Ctrl-C', ctrlC],
  ])('%s at the offer runs nothing', async (_, keys) => {
    await interrupted('a.txt', 'one\n');
    const before = await project.repo.fingerprint();
    const run = inTerminal('session', 'plan', '-m', 'Hello');
    await run.play([recover, keys]);
    expect(await run.exitCode).toBe(130);
    expect(await project.repo.fingerprint()).toEqual(before);
  });

  test('write recover asks for the way, and can export and discard', async () => {
    const id = await interrupted('a.txt', 'one\n');
    const run = inTerminal('write', 'recover');
    await run.play(
      [recover, 'y\n'],
      [ways, 'o\n'],
      ['File: ', 'README.md\n'],
      [ways, 'd\n', 'README.md exists already.'],
    );
    expect(await run.exitCode).toBe(0);
    expect(run.text()).toContain(`Discarded ${id}.`);
    expect(await stages()).toEqual([]);
  });
});
