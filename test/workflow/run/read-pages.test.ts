import { describe, expect, test } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import { parseReport } from '../../../src/plan/report/report-yaml.ts';
import type { Masker } from '../../../src/ports/project.ts';
import type { Pages } from '../../../src/ports/web.ts';
import { given } from '../../support/given.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { approver, create, line, planOf, run, say, session, start } from '../../support/turns.ts';

const dir = `.teddy/sessions/${session}/01`;

const read = (resource: string, ...more: string[]) => `### READ\n- **Resource:** ${resource}\n${more.join('\n')}\n`;
const prune = (resource: string) => `### PRUNE\n- **Resource:** ${resource}\n`;

/** A session with a pending plan for these actions. */
const pending = (...actions: string[]) =>
  given.plannedTurn(actions, [], { 'README.md': '# Notes\n', '.gitignore': 'dist/\n' });

/** A masker that fails for one text. */
function failsFor(wanted: string, fails: () => Promise<never>): Masker['mask'] {
  return (text) => (text === wanted ? fails() : Promise.resolve({ text, count: 0, found: [] }));
}

/** By contract, the page is at the redirects' target. */
function redirecting(project: MemoryProject, to: string): MemoryProject {
  const pages: Pages = {
    fetch: async () => ({ url: to, contentType: 'text/html', text: '<p>moved</p>' }),
  };
  return { ...project, pages };
}

describe('READ with a URL', () => {
  test('stores the page with the turn, masked, in the report’s commit', async () => {
    const project = await pending(create('a.txt'), read('[the docs](https://Example.org/docs#part)', '- Lines: 1-5'));
    project.web.set('https://example.org/docs', 'key: hunter2hunter2\nhällo hunter2hunter2\n');
    project.secrets.set('hunter2hunter2', 'password');
    const asking = approver();
    const { commit, report } = await run(project, { approver: asking });
    expect(asking.asked).toEqual(['1 CREATE', '2 READ']);
    expect(report.run_summary.status).toBe('SUCCESS');
    expect(report.action_logs[1]).toMatchObject({
      status: 'SUCCESS',
      params: { resource: 'https://Example.org/docs#part', lines: '1-5' },
      approved_by: 'user',
    });
    const masked = 'key: [masked: password]\nhällo [masked: password]\n';
    expect(report.action_logs[1]?.details).toEqual({
      url: 'https://Example.org/docs#part',
      content_type: 'text/plain',
      bytes: Buffer.byteLength(masked),
      masked: 2,
      page_file: 'pages/2.txt',
    });
    expect(await project.readAt(commit, `${dir}/pages/2.txt`)).toBe(masked);
    const text = (await project.readAt(commit, `${dir}/report.md`)) ?? '';
    expect(parseReport(text)).toEqual(report);
    expect(text).not.toContain('hunter2');
    expect(report.changes.map(({ path }) => path)).toEqual(['a.txt']);
  });

  test('reports the redirects’ target, without the secrets in that URL', async () => {
    const project = await pending(read('https://example.org/a'));
    project.secrets.set('hunter2hunter2', 'password');
    const { report } = await run(redirecting(project, 'https://example.org/b?key=hunter2hunter2'));
    expect(report.action_logs[0]?.details).toMatchObject({
      url: 'https://example.org/a',
      final_url: 'https://example.org/b?key=[masked: password]',
    });
  });

  test('is not fetched if it is declined', async () => {
    const project = await pending(read('https://example.org/'), create('a.txt'));
    const fetched: string[] = [];
    const pages: Pages = {
      fetch: async (url) => {
        fetched.push(url);
        return { url, contentType: 'text/plain', text: '' };
      },
    };
    const { report, commit } = await run({ ...project, pages }, { approver: approver(['no']) });
    expect(report.action_logs.map(({ status }) => status)).toEqual(['SKIPPED', 'SUCCESS']);
    expect(fetched).toEqual([]);
    expect(await project.readAt(commit, `${dir}/pages/1.txt`)).toBeNull();
  });

  test.each(['PAGE_FAILED', 'PAGE_REFUSED', 'MASKING_FAILED'] as const)(
    'fails as an action if it ends in %s, and keeps nothing of the page',
    async (code) => {
      const project = await pending(read('https://example.org/'), create('a.txt'));
      project.web.set('https://example.org/', 'text');
      const fails = () => Promise.reject(new TeddyError(code, 'It went wrong.'));
      const failing =
        code === 'MASKING_FAILED' ? { masker: { mask: failsFor('text', fails) } } : { pages: { fetch: fails } };
      const { report, commit } = await run({ ...project, ...failing });
      expect(report.run_summary).toMatchObject({ status: 'FAILURE', error: 'action 1 (READ) failed' });
      expect(report.action_logs).toMatchObject([
        { status: 'FAILURE', details: { reason: `It went wrong. [${code}]` } },
        { status: 'SKIPPED' },
      ]);
      expect(await project.readAt(commit, `${dir}/pages/1.txt`)).toBeNull();
    },
  );

  test('aborts the run if it is interrupted', async () => {
    const project = await pending(read('https://example.org/'), create('a.txt'));
    const controller = new AbortController();
    const pages: Pages = {
      fetch: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new TeddyError('INTERRUPTED', 'Interrupted.')));
          controller.abort();
        }),
    };
    const { report } = await run({ ...project, pages }, { signal: controller.signal });
    expect(report.run_summary).toMatchObject({ status: 'ABORTED', error: 'interrupted' });
    expect(report.action_logs.map(({ status }) => status)).toEqual(['ABORTED', 'SKIPPED']);
  });

  test('makes the plan invalid if the URL is never fetched, and nobody is asked', async () => {
    const project = await pending(
      create('a.txt'),
      read('https://169.254.169.254/latest/'),
      read('http://example.org/'),
    );
    const asking = approver();
    const { report } = await run(project, { approver: asking });
    expect(asking.asked).toEqual([]);
    expect(report.run_summary.status).toBe('VALIDATION_FAILED');
    expect(report.validation_errors.map(({ message }) => message)).toEqual([
      'READ https://169.254.169.254/latest/: 169.254.169.254 is not a public address.',
      'READ http://example.org/: only `https://` is fetched, not `http://`.',
    ]);
    expect(await project.read('a.txt')).toBeNull();
  });
});

describe('READ with a path', () => {
  test('is a problem if git ignores the path, when the plan arrives and when it is executed', async () => {
    const project = await memoryProject({ 'README.md': '# Notes\n', '.gitignore': 'dist/\n' });
    await project.write({ 'dist/x': 'made\n' });
    await start(project);
    const planned = await say(project, 'Do it', planOf([read('dist/x')]));
    const message = expect.stringContaining('READ dist/x: git ignores it');
    expect(planned).toMatchObject({ kind: 'answered', problems: [{ message }] });
    const { report } = await run(project);
    expect(report.run_summary.status).toBe('VALIDATION_FAILED');
    expect(report.validation_errors).toMatchObject([{ message }]);
  });

  test('makes no call to git if no path is read', async () => {
    const project = await pending(create('a.txt'), read('https://example.org/'), prune('README.md'));
    project.web.set('https://example.org/', 'text');
    const asked: string[][] = [];
    const { repository } = project;
    const ignored: typeof repository.workspace.ignored = async (paths) => {
      asked.push(paths);
      return repository.workspace.ignored(paths);
    };
    const workspace = { ...repository.workspace, ignored };
    await run({ ...project, repository: { ...repository, workspace, openWorkspace: async () => workspace } });
    // Only the query for new files remains, which is part of every report.
    expect(asked).toEqual([['a.txt']]);
  });
});

test('PRUNE is asked about, succeeds for missing files, and changes no file', async () => {
  const project = await pending(prune('README.md'), prune('gone.ts'), prune('https://example.org/a'));
  const before = await project.tipOf(line);
  const asking = approver();
  const { report, commit } = await run(project, { approver: asking });
  expect(asking.asked).toEqual(['1 PRUNE', '2 PRUNE', '3 PRUNE']);
  expect(report.action_logs).toMatchObject([
    { status: 'SUCCESS', params: { resource: 'README.md' } },
    { status: 'SUCCESS', params: { resource: 'gone.ts' } },
    { status: 'SUCCESS', params: { resource: 'https://example.org/a' } },
  ]);
  const changes = await project.repository.store.diffTrees(before, commit);
  expect(changes.map(({ path }) => path)).toEqual([`${dir}/report.md`]);
  expect(await project.read('README.md')).toBe('# Notes\n');
});
