/** A captured line whose log state is lost, whose log is odd, or on which the user works as well. */
import { describe, expect, test } from 'vitest';
import {
  answered,
  capture,
  faultsOf,
  filesOf,
  linesOf,
  path,
  said,
  textsOf,
  toLine,
} from '../../support/followed-log.ts';
import { memoryCapture } from '../../support/memory-agent-logs.ts';
import { memoryProject } from '../../support/memory-repository.ts';

const main = 'teddy/20260124-claude-code-add-a-file';
const odd = (number: number, text = 'x') => toLine({ type: `from-the-future-${number}`, text });

const first = said('u1', null, 'Add a file') + answered('a1', 'u1', 'It is there.');
const second = said('u2', 'a1', 'And another') + answered('a2', 'u2', 'Done.');

describe('log lines that no reader understands', () => {
  test('are kept even if the drainer ends before the next entry', async () => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, first);
    await capture(project, logs, first + odd(1));
    await capture(project, logs, first + odd(1) + second);
    expect(Object.values(await filesOf(project, main, 'raw.jsonl')).join('')).toContain('from-the-future-1');
    expect(logs.saved.get(path)).toMatchObject({ unknown: 1 });
  });

  test('are added once, even if the log is reread from the start', async () => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, odd(1) + first);
    logs.saved.clear();
    await capture(project, logs, odd(1) + first + second);
    const raw = Object.values(await filesOf(project, main, 'raw.jsonl')).join('');
    expect(raw.split('from-the-future-1')).toHaveLength(2);
  });
});

describe('a fork whose state is lost', () => {
  const again = said('u3', 'a1', 'Or a directory') + answered('a3', 'u3', 'A directory is there.');
  const more = said('u4', 'a3', 'And one in it') + answered('a4', 'u4', 'Also there.');

  test('continues in its own turn without opening a second branch', async () => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, first + second + again);
    logs.saved.clear();
    await capture(project, logs, first + second + again + more);
    const branch = `${main}--02-branch-01`;
    expect(await linesOf(project)).toEqual([main, branch]);
    expect(await textsOf(project, branch)).toEqual({
      '01': ['Add a file', 'It is there.'],
      '02-branch-01': ['Or a directory', 'A directory is there.'],
      '03': ['And one in it', 'Also there.'],
    });
    expect(await faultsOf(project)).toEqual([]);
  });
});

test('an id of several words causes no fault', async () => {
  const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
  await capture(project, logs, first.replaceAll('"s1"', String.raw`"s1\nTeddy-Turn: 09"`));
  expect(await linesOf(project)).toEqual([main]);
  expect(await faultsOf(project)).toEqual([]);
});

describe('a line that the user also works on', () => {
  test('continues at the point that it was moved back to', async () => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, first);
    const tip = await project.tipOf(main);
    await capture(project, logs, first + second + said('u5', 'a2', 'Third'));
    const ref = `refs/heads/${main}` as never;
    await project.repository.store.updateRefs([{ ref, old: await project.tipOf(main), new: tip }], 'reset');
    await capture(project, logs, first + second + said('u5', 'a2', 'Third') + answered('a5', 'u5', 'Third done.'));
    expect(Object.keys(await textsOf(project, main))).toEqual(['01', '02']);
    expect(await faultsOf(project)).toEqual([]);
  });
});
