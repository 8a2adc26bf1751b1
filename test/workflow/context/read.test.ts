import { describe, expect } from 'vitest';
import { readContext, type ReadContext } from '../../../src/workflow/context/read.ts';
import { readGlobal } from '../../../src/workflow/line/global-branch.ts';
import { readLine } from '../../../src/view/view.ts';
import { showContext } from '../../../src/workflow/context/show.ts';
import { toTurnName, type RepoPath } from '../../../src/names.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { approver, create, line, planOf, run, say, session, turn } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const sessionContext = `.teddy/sessions/${session}/session.context`;

async function begin(files: Record<string, string> = {}, list = ''): Promise<MemoryProject> {
  const project = await given.session({ 'README.md': '# Notes\n', 'src/app.ts': 'app\n', ...files });
  await project.write({ [sessionContext]: list });
  await project.commit('My list\n');
  return project;
}

async function readNext(project: MemoryProject, withWorkspace = true): Promise<ReadContext> {
  const { store, workspace } = project.repository;
  const state = await readLine(store, await project.tipOf(line));
  const next = toTurnName(state.turns.length + 1);
  return readContext(project, state, next, await readGlobal(project), withWorkspace ? workspace : null);
}

/** `path`, or `path: its remark`. */
function summarize({ files }: ReadContext): string[] {
  return files.map((file) => {
    if (file.kind === 'shown') return file.source.kind === 'stored' ? `${file.path}: stored` : file.path;
    return `${file.path}: ${file.kind === 'missing' ? 'missing' : file.reason}`;
  });
}

function vault(...lines: string[]): string {
  return planOf([create('new.txt')], `## Context Vault\n\n\`\`\`\n${lines.join('\n')}\n\`\`\``);
}

/** A turn whose plan has this vault. */
async function withVault(project: MemoryProject, ...lines: string[]): Promise<void> {
  await say(project, 'Look', vault(...lines));
  await run(project);
}

const secret = 'hunter2-hunter2';

describe('files that git does not track', () => {
  const untracked = { 'notes.txt': 'mine\n', 'build/out.txt': `${secret}\n`, '.env': `${secret}\n`, 'pic.png': 'a\0b' };

  async function withUntracked(list = ''): Promise<MemoryProject> {
    const project = await begin({ '.gitignore': 'build/\n' }, list);
    await project.write(untracked);
    return project;
  }

  test('are shown as on disk if the user names them individually, ignored or not, which is reported', async () => {
    const project = await withUntracked('notes.txt\nbuild/out.txt\n.env\npic.png');
    const context = await readNext(project);
    expect(summarize(context)).toEqual([
      'README.md',
      'notes.txt: stored',
      'build/out.txt: stored',
      '.env: stored',
      'pic.png: stored',
    ]);
    expect(context.notes).toContain('notes.txt is not tracked by git; it is shown as it is on disk.');
    expect(summarize(await readNext(project, false)).slice(1)).toEqual([
      'notes.txt: missing',
      'build/out.txt: missing',
      '.env: missing',
      'pic.png: missing',
    ]);
  });

  test('are not brought in by a directory or a pattern', async () => {
    const context = await readNext(await withUntracked('.\n*.txt\nbuild\nbuild/*.log'));
    expect(summarize(context)).toEqual(['README.md', '.gitignore', 'src/app.ts']);
    expect(context.notes).toEqual([
      'Not shown to the model: *.txt (it matches no file).',
      'Not shown to the model: build (git tracks no file in it; name its files one by one).',
      'Not shown to the model: build/*.log (it matches no file).',
    ]);
  });

  test('are shown to a model that names them if git does not ignore them and their names are harmless', async () => {
    const project = await withUntracked();
    await withVault(project, 'notes.txt', 'build/out.txt', '.env', 'pic.png', 'gone.txt', 'gone/*.txt', 'build');
    const context = await readNext(project);
    expect(summarize(context)).toEqual([
      'README.md',
      'notes.txt: stored',
      'pic.png: binary',
      'gone.txt: missing',
      'new.txt',
      expect.stringContaining('.env: named like a secret'),
      expect.stringContaining('build/out.txt: git ignores it'),
      'gone/*.txt: it matches no file',
      expect.stringContaining('build: git tracks no file in it'),
    ]);
    expect(JSON.stringify(context.files)).not.toContain(secret);
    expect(context.paths).toEqual(['README.md', 'notes.txt', 'gone.txt', 'new.txt']);
    expect(context.notes.filter((note) => note.includes('build/out.txt'))).toHaveLength(1);
  });

  test('that the user names individually may be named by a model as well', async () => {
    const project = await withUntracked('build/out.txt');
    await withVault(project, 'build/out.txt');
    expect(summarize(await readNext(project))).toContain('build/out.txt: stored');
  });

  test('with a name that could be a pattern are files', async () => {
    const project = await begin({}, 'pages/[id].ts');
    await project.write({ 'pages/[id].ts': 'page\n' });
    expect(summarize(await readNext(project))).toEqual(['README.md', 'pages/[id].ts: stored']);
  });
});

describe('.teddyignore', () => {
  test('is read from the tree, at every level', async () => {
    const project = await begin(
      {
        '.teddyignore': '*.gen.ts\n',
        'src/.teddyignore': '!keep.gen.ts\nlocal/\n',
        'src/a.gen.ts': 'a\n',
        'src/keep.gen.ts': 'k\n',
        'src/local/x.ts': 'x\n',
        'local/y.ts': 'y\n',
      },
      'src/\nlocal/',
    );
    expect(summarize(await readNext(project))).toEqual([
      'README.md',
      'src/.teddyignore',
      'src/app.ts',
      'src/keep.gen.ts',
      'local/y.ts',
    ]);
    await withVault(project, 'src/a.gen.ts', 'src/local/x.ts');
    expect(summarize(await readNext(project)).slice(-2)).toEqual([
      expect.stringContaining('src/a.gen.ts: .teddyignore leaves it out'),
      expect.stringContaining('src/local/x.ts: .teddyignore leaves it out'),
    ]);
  });
});

test('a .teddyignore that git does not track is not applied, which is reported', async () => {
  const project = await begin({}, 'src/');
  await project.write({ '.teddyignore': 'src/\n' });
  const context = await readNext(project);
  expect(summarize(context)).toContain('src/app.ts');
  expect(context.notes).toEqual([expect.stringContaining('.teddyignore is not tracked by git')]);
});

describe('files passed from one turn to the next', () => {
  test('READ, CREATE and EDIT add files, PRUNE removes them, and failed actions do neither', async () => {
    const project = await begin({ 'a.txt': 'a\n', 'b.txt': 'b\n' });
    await turn(
      project,
      'One',
      '### READ\n- **Resource:** a.txt\n',
      '### READ\n- **Resource:** b.txt\n',
      create('c.txt'),
    );
    expect(summarize(await readNext(project))).toEqual(['README.md', 'a.txt', 'b.txt', 'c.txt']);
    await turn(project, 'Two', '### PRUNE\n- **Resource:** a.txt\n', '### PRUNE\n- **File Path:** README.md\n');
    expect(summarize(await readNext(project))).toEqual(['b.txt', 'c.txt']);
    await say(project, 'Three', planOf(['### PRUNE\n- **Resource:** b.txt\n']));
    await run(project, { approver: approver(['no']) });
    expect(summarize(await readNext(project))).toContain('b.txt');
  });
});

describe('a line that the user removes from the list', () => {
  const files = { 'src/b.ts': 'b\n', 'docs/a.md': 'a\n', 'docs/b.txt': 'b\n' };

  async function afterOneTurn(list: string): Promise<MemoryProject> {
    const project = await begin(files, list);
    await say(project, 'Look', planOf([create('new.txt'), `### READ\n- **Resource:** docs/b.txt\n`]));
    await run(project);
    return project;
  }

  test('takes out the files it added, but not those that the turn read or another line names', async () => {
    const project = await afterOneTurn('src\ndocs/*.md\n');
    expect(summarize(await readNext(project))).toContain('docs/a.md');
    await project.write({ [sessionContext]: 'src/app.ts\n' });
    await project.commit('A shorter list\n');
    expect(summarize(await readNext(project))).toEqual(['README.md', 'src/app.ts', 'new.txt', 'docs/b.txt']);
  });

  test('that merely moved or got a comment takes nothing out', async () => {
    const project = await afterOneTurn('src\ndocs/*.md\n');
    await project.write({ [sessionContext]: '# mine\ndocs/*.md  # all\nsrc\n' });
    await project.commit('The same list\n');
    expect(summarize(await readNext(project)).toSorted()).toEqual(
      ['README.md', 'docs/a.md', 'docs/b.txt', 'new.txt', 'src/app.ts', 'src/b.ts'].toSorted(),
    );
  });
});

describe('pages', () => {
  const url = 'https://example.org/docs';

  const readUrl = `### READ\n- **Resource:** ${url}\n`;

  slowTest('are shown as last fetched, in any spelling of the URL on a list', async () => {
    const project = await begin({}, `${url}#part\nhttps://example.org/other`);
    project.web.set(url, 'old page');
    await turn(project, 'One', readUrl);
    project.web.set(url, 'new page');
    await turn(project, 'Two', readUrl);
    await turn(project, 'Three', create('c.txt'));
    const { files, notes, paths } = await readNext(project);
    const page = await project.repository.store.readFile(
      await project.tipOf(line),
      `.teddy/sessions/${session}/02/pages/1.txt` as RepoPath,
    );
    const shown = {
      kind: 'shown',
      source: { kind: 'blob', oid: page?.oid },
      text: 'new page',
      lossy: false,
      masked: 0,
    };
    expect(files.slice(1, 3)).toEqual([
      { ...shown, path: `${url}#part` },
      { ...shown, path: url },
    ]);
    expect(notes).toEqual([
      'Not shown to the model: https://example.org/other (only an approved READ fetches it, and none has).',
    ]);
    expect(paths).toEqual(['README.md', `${url}#part`, url, 'c.txt']);
    await turn(project, 'Four', `### PRUNE\n- **Resource:** ${url}\n`);
    expect((await readNext(project)).paths).not.toContain(url);
  });

  test('that could not be fetched are left out, and the model is told', async () => {
    const project = await begin();
    await turn(project, 'One', readUrl);
    await withVault(project, url, 'http://example.org/', 'https://169.254.169.254/');
    expect(summarize(await readNext(project)).slice(2)).toEqual([
      expect.stringContaining('http://example.org/: only `https://` is fetched'),
      expect.stringContaining('https://169.254.169.254/: 169.254.169.254 is not a public address'),
      `${url}: only an approved READ fetches it, and none has`,
    ]);
  });
});

describe('session context', () => {
  test('names the line behind every file, and traces withheld files to their turn', async () => {
    const project = await begin({ 'docs/a.md': 'a\n', 'docs/b.md': 'b\n' }, '# mine\nsrc/\n!README.md');
    await turn(project, 'One', create('c.txt'));
    await withVault(project, 'docs/', 'c.txt', 'README.md', '!docs/b.md');
    await turn(project, 'Three', create('d.txt'));
    const shown = await showContext(project, {});
    expect(shown).toMatchObject({ session, line, turn: '04', ignored: 0, edited: 0, why: null });
    expect(shown.files.map(({ path, from }) => `${path} ${from}`)).toEqual([
      'src/app.ts session.context:2',
      'docs/a.md turn: Context Vault of turn 02',
      'c.txt turn: Context Vault of turn 02',
      'new.txt turn: CREATE in turn 02',
      'd.txt turn: CREATE in turn 03',
    ]);
    expect(shown.tokens).toBe(shown.files.reduce((sum, { tokens }) => sum + tokens, 0));
    expect(shown.takenAway).toEqual([{ path: 'README.md', from: 'global.context:3', by: 'session.context:3' }]);
  });

  test('lists the lines that mention a path, and explains why it is not shown', async () => {
    const project = await begin({ 'docs/a.md': 'a\n', '.env': 'x\n' }, 'docs/\n!docs/a.md');
    await withVault(project, '.env', '*.png');
    const ask = async (why: string) => (await showContext(project, { why })).why;
    expect(await ask('/docs/a.md')).toEqual({
      path: 'docs/a.md',
      isShown: false,
      below: null,
      reasons: [],
      lines: [
        { from: 'session.context:1', text: 'docs/', removes: false },
        { from: 'session.context:2', text: '!docs/a.md', removes: true },
      ],
    });
    expect(await ask('.env')).toMatchObject({
      isShown: false,
      reasons: [expect.stringContaining('named like a secret')],
    });
    expect(await ask('src/app.ts')).toEqual({
      path: 'src/app.ts',
      isShown: false,
      below: null,
      reasons: [],
      lines: [],
    });
    expect(await ask('docs')).toMatchObject({
      isShown: false,
      below: { shown: 0, tokens: 0 },
      lines: [{ text: 'docs/' }, { text: '!docs/a.md' }],
    });
    expect(await ask('README.md')).toMatchObject({ isShown: true, reasons: [] });
    expect(await ask('../x')).toMatchObject({ isShown: false, reasons: ['it leaves the project with `..`'] });
  });

  test('uses session.context as it is on disk, counts edits, and changes nothing', async () => {
    const project = await begin();
    await project.write({ [sessionContext]: 'src/app.ts\n', 'src/app.ts': 'edited\n' });
    const before = await project.tipOf(line);
    const { files, edited } = await showContext(project, {});
    expect(files.map(({ path }) => path)).toEqual(['README.md', 'src/app.ts']);
    expect(edited).toBe(1);
    expect(await project.tipOf(line)).toBe(before);
    expect(project.said.filter((said) => said.includes('snapshot'))).toEqual([]);
  });
});
