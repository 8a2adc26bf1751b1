/** Typing in a conversation: lines that become a message, and messages that are commands. */
import { describe, expect, test } from 'vitest';
import {
  completeInput,
  parseChatInput,
  quoteSlash,
  renderChatHelp,
  splitPaths,
  splitTurn,
} from '../../src/cli/commands/session/chat/commands.ts';
import { gatherLine, nothingGathered, type Gathering } from '../../src/cli/commands/session/chat/prompt.ts';
import { openOutputLines } from '../../src/cli/commands/session/chat/output.ts';
import { describeResult } from '../../src/cli/commands/session/chat/view.ts';
import { toEditText } from '../../src/cli/ask/typed-ahead.ts';

/** The message that these lines become, and how many of them it takes; null: it goes on. */
function gather(...lines: (string | { pasted: string })[]): { message: string; taken: number } | null {
  let gathering: Gathering = nothingGathered;
  for (const [at, line] of lines.entries()) {
    const isPasted = typeof line !== 'string';
    const next = gatherLine(gathering, isPasted ? line.pasted : line, { isPasted });
    if ('message' in next) return { message: next.message, taken: at + 1 };
    gathering = next;
  }
  return null;
}

describe('lines', () => {
  test('a line is a message, with its spaces at the beginning and without those at the end', () => {
    expect(gather('Hello', 'more')).toEqual({ message: 'Hello', taken: 1 });
    expect(gather('  indented  ')).toEqual({ message: '  indented', taken: 1 });
    expect(gather('')).toEqual({ message: '', taken: 1 });
  });

  test('a backslash at the end goes on in the next line', () => {
    expect(gather('one\\', 'two\\', '  three')).toEqual({ message: 'one\ntwo\n  three', taken: 3 });
    expect(gather('one\\')).toBeNull();
    expect(gather('a \\ b')?.message).toBe('a \\ b');
  });

  test('three quotes hold lines together until three quotes end one', () => {
    expect(gather('"""', 'one\\', '', 'two', '"""')).toEqual({ message: 'one\\\n\ntwo', taken: 5 });
    expect(gather('"""one', 'two"""', 'three')).toEqual({ message: 'one\ntwo', taken: 2 });
    expect(gather('"""one"""')).toEqual({ message: 'one', taken: 1 });
    expect(gather('"""', 'say """this""" here')).toBeNull();
    expect(gather('say """')?.message).toBe('say """');
  });

  test('nothing in what is pasted begins or ends anything, and the line after it ends the message', () => {
    const pasted = ['def f():', '    """Doc."""', '"""', 'x = 1 \\'].map((line) => ({ pasted: line }));
    expect(gather(...pasted, '    + 2')).toEqual({
      message: 'def f():\n    """Doc."""\n"""\nx = 1 \\\n    + 2',
      taken: 5,
    });
    expect(gather(...pasted)).toBeNull();
    expect(gather({ pasted: '' }, { pasted: 'a' }, { pasted: '' }, '')?.message).toBe('a');
  });
});

describe('Tab', () => {
  const paths = ['README.md', 'src/app.ts', 'src/cli/main.ts', 'src/cli/run.ts', 'a b.txt'];
  test.each([
    ['/co', ['/context ', '/cost '], '/co'],
    ['/', expect.arrayContaining(['/model ', '/help ']) as string[], '/'],
    ['/add ', ['README.md', 'src/'], ''],
    ['/add src/', ['src/app.ts', 'src/cli/'], 'src/'],
    ['/drop src/cli/r', ['src/cli/run.ts'], 'src/cli/r'],
    ['Look at @R', ['@README.md'], '@R'],
    ['Look at src/a', ['src/app.ts'], 'src/a'],
    ['Look at', [], 'at'],
    ['Look ', [], ''],
    ['see /co', [], '/co'],
  ])('of %j completes the last word', (line, completions, word) => {
    expect(completeInput(line, paths)).toEqual([completions, word]);
  });

  test('paths are split at spaces, and quotes hold one together', () => {
    expect(splitPaths(`src/app.ts "a b.txt"  'c d'`)).toEqual(['src/app.ts', 'a b.txt', 'c d']);
  });
});

describe('commands', () => {
  test('what begins with one slash is a command, and all else is a message', () => {
    expect(parseChatInput('/plan  Add a route ')).toEqual({ kind: 'command', name: 'plan', rest: 'Add a route' });
    expect(parseChatInput('/plan Add\na route')).toEqual({ kind: 'command', name: 'plan', rest: 'Add\na route' });
    expect(parseChatInput(' /quit ')).toEqual({ kind: 'command', name: 'quit', rest: '' });
    expect(parseChatInput('/exit')).toEqual({ kind: 'command', name: 'quit', rest: '' });
    expect(parseChatInput('a /plan')).toEqual({ kind: 'message', text: 'a /plan' });
    expect(parseChatInput('  a')).toEqual({ kind: 'message', text: '  a' });
    expect(parseChatInput(' \n ')).toEqual({ kind: 'nothing' });
  });

  test('two slashes send a message with one', () => {
    expect(parseChatInput('//etc/hosts is wrong')).toEqual({ kind: 'message', text: '/etc/hosts is wrong' });
    expect(parseChatInput('///')).toEqual({ kind: 'message', text: '//' });
    for (const text of ['/undo\nmore', '//a', 'plain']) {
      expect(parseChatInput(quoteSlash(text))).toEqual({ kind: 'message', text });
    }
  });

  test('a command that there is not is refused, with the nearest one', () => {
    const refusal = (typed: string) => {
      try {
        return parseChatInput(typed);
      } catch (error) {
        const { code, message, hint } = error as { code: string; message: string; hint: string };
        return `${code} ${message} ${hint}`;
      }
    };
    expect(refusal('/exceute')).toMatch(/^USAGE There is no command \/exceute\. Is it \/execute\? .*\/\/exceute /);
    expect(refusal('/etc/hosts')).toMatch(/^USAGE There is no command \/etc\/hosts\. \/help lists/);
    expect(refusal('/toString')).toContain('There is no command /toString.');
    expect(refusal('/')).toContain('There is no command /.');
    expect(refusal('/execute now')).toContain('/execute takes no arguments.');
    expect(refusal('/branch')).toContain('`/branch <turn> [text]`');
  });

  test('a branch has a turn, and may have a message', () => {
    expect(splitTurn('02')).toEqual({ turn: '02', message: undefined });
    expect(splitTurn('02-branch-01  Use a\nlibrary')).toEqual({ turn: '02-branch-01', message: 'Use a\nlibrary' });
  });

  test('help fits into 80 columns and names what can be typed', () => {
    const help = renderChatHelp();
    for (const name of [
      '/plan',
      '/execute',
      '/retry',
      '/branch',
      '/history',
      '/undo',
      '/model',
      '/agent',
      '/add',
      '/drop',
      '/context',
      '/cost',
      '/diff',
      '/allowed',
      '/help',
      '/quit',
      '//text',
      '"""',
    ])
      expect(help).toContain(`  ${name}`);
    expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });
});

test('the output of a command is shown line by line, however it is torn apart', () => {
  const lines: string[] = [];
  const output = openOutputLines((line) => lines.push(line));
  output.take('stdout', 'on');
  output.take('stderr', 'oops');
  output.take('stdout', 'e\r');
  output.take('stdout', '\ntwo\u001b[2J\n\nthr');
  expect(lines).toEqual(['one', 'two␛[2J', '']);
  output.end();
  expect(lines).toEqual(['one', 'two␛[2J', '', 'thr', 'oops']);
  output.take('stdout', 'next\n');
  expect(lines.at(-1)).toBe('next');
  output.take('stdout', '.'.repeat(10_000));
  expect(lines.at(-1)).toBe(`${'.'.repeat(400)}...`);
});

test('of much output the beginning and the end are shown, with the number of lines between them', () => {
  const lines: string[] = [];
  const output = openOutputLines((line) => lines.push(line));
  const numbers = (count: number) => Array.from({ length: count }, (_, at) => `${at + 1}`);
  output.take('stdout', `${numbers(1234).join('\n')}\n`);
  expect(lines).toEqual(numbers(40));
  output.end();
  expect(lines.slice(40)).toEqual(['... 1,184 lines are not shown', ...numbers(1234).slice(-10)]);
  lines.length = 0;
  output.take('stdout', numbers(50).join('\n'));
  output.end();
  expect(lines).toEqual(numbers(50));
});

test('what was typed ahead stands in an edit line without keys that are no text, and without its Enter', () => {
  expect(toEditText('\u001b[200~one\r\n/undo\rthree\u001b[201~ more\r')).toBe('one\n/undo\nthree more');
  expect(toEditText('a\u0000\u001b[A\tb\u007f\n\n')).toBe('a\tb');
  expect(toEditText('\u001b[A\r')).toBe('');
});

test('a result is told in a few visible words', () => {
  const of = (name: string, output: string, isError = false) => describeResult({ name }, { output, isError });
  expect(of('read_file', 'a\nb\n')).toBe('2 lines');
  expect(of('read_file', '(a.txt is empty)')).toBe('(a.txt is empty)');
  expect(of('read_file', 'a\u001b[2J')).toBe('a␛[2J');
  expect(of('run_command', 'Exit code 0.\n--- stdout\nx\n')).toBe('Exit code 0.');
  expect(of('run_command', 'Exit code 2.\n', true)).toBe('failed: Exit code 2.');
  expect(of('search_text', 'x'.repeat(500))).toBe(`${'x'.repeat(160)}...`);
  const written = { written_path: 'a\u001b.txt', commit: '0123456789abcdef' };
  expect(of('WritePlanTool_begin', JSON.stringify(written))).toBe('a␛.txt was written and committed as 0123456789');
  expect(of('WritePlanTool_begin', '{"error":"No.\\nReally."}', true)).toBe('failed: No.');
  expect(of('WritePlanTool_begin', 'Not so.\nCall it again.', true)).toBe('failed: Not so.');
  expect(of('WritePlanTool_begin', '', true)).toBe('failed');
  expect(describeResult({ name: 'run_command' }, { output: 'x', isError: true, reason: 'denied' })).toBe('denied');
});
