/** Every changed path belongs to an action or to the user. With real git: test/e2e/attribution.test.ts. */
import { describe, expect } from 'vitest';
import type { Oid } from '../../../src/names.ts';
import type { Approver } from '../../../src/workflow/run/run.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { approver, command, create, run, session, storyOfLine } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const files = { 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n', '.gitignore': 'ignored.txt\n' };

function edit(path: string, find: string, replace: string): string {
  return `### EDIT\n- **File Path:** ${path}\n\n#### FIND:\n\`\`\`\n${find}\n\`\`\`\n#### REPLACE:\n\`\`\`\n${replace}\n\`\`\`\n`;
}

const pending = (...actions: string[]) => given.plannedTurn(actions, [], files);

/** Each script is a list of `path=content`; an empty content deletes the file. */
function scripted(project: MemoryProject, before: (script: string) => Promise<void> = async () => undefined): void {
  project.command.run = async (script) => {
    await before(script);
    const rows = script
      .trim()
      .split('\n')
      .map((row) => row.split('='));
    await project.write(
      Object.fromEntries(rows.map(([path = '', text = '']) => [path, text === '' ? null : `${text}\n`])),
    );
    return {};
  };
}

async function told(project: MemoryProject, approves?: Approver) {
  const { report, commit, leftOut } = await run(project, approves ? { approver: approves } : {});
  return {
    report,
    commit,
    leftOut: leftOut.map(({ path, reason }) => `${path}: ${reason}`),
    changes: report.changes.map(({ path, change, action }) => `${change} ${path} by ${action}`),
    committed: await committedBy(project, commit),
    status: await project.repository.workspace.status({ untracked: true }),
  };
}

async function committedBy(project: MemoryProject, commit: Oid): Promise<string[]> {
  const { store } = project.repository;
  const { parents } = await store.readCommit(commit);
  const changes = await store.diffTrees(parents[0] ?? null, commit);
  return changes.filter(({ path }) => !path.startsWith('.teddy/')).map(({ change, path }) => `${change} ${path}`);
}

/** The user edits while action `index` waits for approval. */
function meanwhile(index: number, does: () => Promise<unknown>): Approver {
  const asked = approver();
  return {
    ...asked,
    action: async (shown) => {
      if (shown.action.index === index) await does();
      return asked.action(shown);
    },
  };
}

describe('a user’s edit', () => {
  test('before the run is a user’s snapshot, and not a change by the run', async () => {
    const project = await pending(edit('a.txt', 'a', 'A'));
    await project.write({ 'a.txt': 'a\nmine\n', 'b.txt': 'mine\n' });
    const { changes, committed, status, commit } = await told(project);
    expect(changes).toEqual(['modified a.txt by 1']);
    expect(committed).toEqual(['modified a.txt']);
    expect(await project.readAt(commit, 'a.txt')).toBe('A\nmine\n');
    expect(await project.readAt(commit, 'b.txt')).toBe('mine\n');
    expect(status).toEqual({ edits: [], unmerged: [], untracked: [] });
    expect((await storyOfLine(project)).slice(-2)).toEqual(['snapshot 01', 'report 01']);
  });

  test('during the approval question stays the user’s, even for a command', async () => {
    const project = await pending(create('new.txt'), command('a.txt=x'));
    scripted(project);
    const { changes, committed, status } = await told(
      project,
      meanwhile(2, () => project.write({ 'b.txt': 'mine\n', 'mine.txt': 'mine\n' })),
    );
    expect(changes).toEqual(['modified a.txt by 2', 'added new.txt by 1']);
    expect(committed).toEqual(['modified a.txt', 'added new.txt']);
    expect(status.edits).toMatchObject([{ path: 'b.txt', staged: '.', unstaged: 'M' }]);
    expect(status.untracked).toEqual(['mine.txt']);
  });

  test('during an earlier approval question is included when EDIT changes that file, and is shown', async () => {
    const project = await pending(create('new.txt'), edit('b.txt', 'b', 'B'));
    const shown: (string | null)[] = [];
    const asking = meanwhile(1, () => project.write({ 'b.txt': 'b\nmine\n' }));
    const { changes, commit } = await told(project, {
      ...asking,
      action: async (step) => {
        if (step.effect.kind === 'write')
          shown.push(step.effect.before && new TextDecoder().decode(step.effect.before));
        return asking.action(step);
      },
    });
    expect(shown).toEqual([null, 'b\nmine\n']);
    expect(changes).toEqual(['modified b.txt by 2', 'added new.txt by 1']);
    expect(await project.readAt(commit, 'b.txt')).toBe('B\nmine\n');
  });

  test('that a command undoes is not a change by the run', async () => {
    const project = await pending(command('b.txt=b'));
    scripted(project);
    const { changes, committed, status } = await told(
      project,
      meanwhile(1, () => project.write({ 'b.txt': 'mine\n' })),
    );
    expect(changes).toEqual([]);
    expect(committed).toEqual([]);
    expect(status.edits).toEqual([]);
  });

  slowTest('from before the run that a command undoes is a change by the run, and is in the history', async () => {
    const project = await pending(command('b.txt=b'));
    scripted(project);
    await project.write({ 'b.txt': 'mine\n' });
    const { changes, commit } = await told(project);
    expect(changes).toEqual(['modified b.txt by 1']);
    const { parents } = await project.repository.store.readCommit(commit);
    expect(parents[0] && (await project.readAt(parents[0], 'b.txt'))).toBe('mine\n');
  });
});

describe('a command', () => {
  test('owns what it edits, deletes and makes; the rest is left out and named', async () => {
    const project = await pending(
      command(
        [
          'a.txt=x',
          'b.txt=',
          'new/deep.txt=n',
          'ignored.txt=i',
          '.env=e',
          'holds.txt=hunter2hunter2',
          'big.bin=' + 'x'.repeat(20),
        ].join('\n'),
      ),
    );
    project.secrets.set('hunter2hunter2', 'PASSWORD');
    scripted(project);
    const scriptedRun = project.command.run;
    project.command.run = async (...args) => {
      await scriptedRun(...args);
      await project.write({ 'big.bin': 'x'.repeat(1024 * 1024 + 1) });
      return {};
    };
    const { changes, committed, leftOut, status } = await told(project);
    expect(changes).toEqual(['modified a.txt by 1', 'deleted b.txt by 1', 'added new/deep.txt by 1']);
    expect(committed).toEqual(['modified a.txt', 'deleted b.txt', 'added new/deep.txt']);
    expect(leftOut.toSorted()).toEqual([
      '.env: named like a secret',
      'big.bin: over 1 MiB',
      'holds.txt: it contains a secret',
    ]);
    expect(status.untracked).toEqual(['.env', 'big.bin', 'holds.txt']);
  });

  test('that puts a secret into a file’s or directory’s name has it left out, and the name is masked', async () => {
    const project = await pending(command('a.txt=x\nlogin-hunter2hunter2.log=x\nhunter2hunter2/deep.txt=n'));
    project.secrets.set('hunter2hunter2', 'PASSWORD');
    scripted(project);
    const { committed, leftOut, report } = await told(project);
    expect(committed).toEqual(['modified a.txt']);
    expect(leftOut.toSorted()).toEqual([
      '[masked: PASSWORD]/deep.txt: its name contains a secret',
      'login-[masked: PASSWORD].log: its name contains a secret',
    ]);
    expect(JSON.stringify(report.changes)).not.toContain('hunter2');
  });

  test('owns a file until a later action changes it', async () => {
    const project = await pending(
      command('a.txt=a\nb.txt=two'),
      edit('a.txt', 'a', 'A'),
      create('new.txt'),
      command('new.txt=more'),
    );
    scripted(project);
    const { changes } = await told(project);
    expect(changes).toEqual(['modified a.txt by 2', 'modified b.txt by 1', 'added new.txt by 4']);
  });

  test('that undoes an earlier action’s change leaves no change', async () => {
    const project = await pending(create('new.txt'), edit('a.txt', 'a', 'A'), command('new.txt=\na.txt=a'));
    scripted(project);
    const { report, changes, committed, status } = await told(project);
    expect(report.run_summary.status).toBe('SUCCESS');
    expect([changes, committed]).toEqual([[], []]);
    expect(status).toEqual({ edits: [], unmerged: [], untracked: [] });
  });

  test('that fails owns its changes up to then, and a skipped action after it owns nothing', async () => {
    const project = await pending(command('a.txt=x'), create('new.txt'));
    project.command.run = async () => {
      await project.write({ 'a.txt': 'half\n' });
      return { exitCode: 1 };
    };
    const { report, changes, commit } = await told(project);
    expect(report.run_summary.status).toBe('FAILURE');
    expect(changes).toEqual(['modified a.txt by 1']);
    expect(await project.readAt(commit, 'a.txt')).toBe('half\n');
    expect(await project.readAt(commit, 'new.txt')).toBeNull();
  });

  test('that commits its changes keeps its commit, and the report goes on top with the rest', async () => {
    const project = await pending(command('b.txt=two'));
    scripted(project, async () => void (await project.commit('By the plan\n', { 'a.txt': 'x\n' })));
    const { changes, committed, commit } = await told(project);
    expect(changes).toEqual(['modified b.txt by 1']);
    expect(committed).toEqual(['modified b.txt']);
    expect(await project.readAt(commit, 'a.txt')).toBe('x\n');
    expect((await storyOfLine(project)).slice(-2)).toEqual(["'By the plan'", 'report 01']);
  });

  test('that stages its changes has nothing left in the index', async () => {
    const project = await pending(command('a.txt=x'));
    scripted(project);
    const work = project.command.run;
    project.command.run = async (...args) => {
      await work(...args);
      await project.write({ 'n.txt': 'n\n' });
      await project.stage('a.txt', 'n.txt');
      return {};
    };
    const { changes, status } = await told(project);
    expect(changes).toEqual(['modified a.txt by 1', 'added n.txt by 1']);
    expect(status).toEqual({ edits: [], unmerged: [], untracked: [] });
  });

  test('adds nothing to .teddy/, under any name', async () => {
    const project = await pending(command(`.teddy/sessions/${session}/evil.txt=x\n.teddy/other=x\na.txt=x`));
    scripted(project);
    const { changes, leftOut } = await told(project);
    expect(changes).toEqual(['modified a.txt by 1']);
    expect(leftOut).toHaveLength(2);
  });
});
