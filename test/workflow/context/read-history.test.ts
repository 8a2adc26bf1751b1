import { describe, expect, test } from 'vitest';
import { parseContextLog } from '../../../src/session/context/context-log-parse.ts';
import type { Oid, TurnName } from '../../../src/names.ts';
import { previewRequest } from '../../../src/workflow/turn/plan.ts';
import { readEarlierOfTurn } from '../../../src/workflow/context/read-history.ts';
import { readTurnState } from '../../../src/view/view.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { assistantSays, assistantWrites, brings, calls, userSays, writeTurns } from '../../support/transcripts.ts';
import { line, session } from '../../support/turns.ts';
import type { SessionId } from '../../../src/names.ts';

const choice = { provider: 'recorded' as const, name: 'scripted', parameters: {}, model: null };

async function historyOf(project: MemoryProject): Promise<string> {
  const log = parseContextLog(await previewRequest(project, { message: 'And now?', choice }));
  return log.sections.find(({ name }) => name === 'history')?.body ?? '';
}

const headings = (text: string) => text.split('\n').filter((row) => /^##+ /.test(row));

describe('the history in a request', () => {
  test('contains every turn with its messages, calls, results, plans and reports, spoken or typed', async () => {
    const project = await given.session();
    await writeTurns(project, line, {
      '01': {
        records: [
          userSays('What is in a?', 'voice_transcription'),
          assistantSays('I look.', 'voice_response'),
          calls('c1', 'read_file', { path: 'a' }),
          brings('c1', 'There is no a.', true),
          assistantSays('Nothing.'),
        ],
      },
      '02': { records: [userSays('Make it'), assistantWrites('plan.md')], plan: '# Make it\n', report: 'version: 1\n' },
    });
    const text = await historyOf(project);
    expect(headings(text)).toEqual([
      '## Turn 01',
      '### Message (spoken)',
      '### Reply (spoken)',
      '### Tool call read_file',
      '### Result (error)',
      '### Reply',
      '## Turn 02',
      '### Message',
      '### Plan',
      '### Report',
    ]);
    expect(text).toContain('\n{"path":"a"}\n');
    expect(text).toContain('\nThere is no a.\n');
  });

  test('contains no secret: not in an input, a result, an answer, or a tool name', async () => {
    const project = await given.session();
    await writeTurns(project, line, {
      '01': {
        records: [
          userSays('Say hunter2'),
          assistantSays('It is hunter2.'),
          calls('c1', 'hunter2', { key: 'hunter2' }),
          brings('c1', 'hunter2'),
        ],
      },
    });
    project.secrets.set('hunter2', 'a test');
    const text = await historyOf(project);
    expect(text).not.toContain('hunter2');
    expect(text.split('[masked: a test]')).toHaveLength(6);
  });
});

describe('the earlier messages in an open turn', () => {
  const read = async (project: MemoryProject, at: Oid, message: string) =>
    readEarlierOfTurn(
      project,
      await readTurnState(project.repository.store, at, session as SessionId, '01' as TurnName),
      {
        message,
        mode: 'chat',
        limit: Number.POSITIVE_INFINITY,
      },
    );

  test('are all before the waiting message, without that message and those after it', async () => {
    const project = await given.session();
    const commit = await writeTurns(project, line, {
      '01': {
        records: [
          userSays('First hunter2'),
          calls('c1', 'read_file', {}),
          brings('c1', 'A'),
          userSays('Second'),
          calls('c2', 'list_files', {}),
          brings('c2', 'B'),
        ],
      },
    });
    project.secrets.set('hunter2', 'a test');
    const earlier = await read(project, commit, 'Second');
    expect(headings(earlier?.text ?? '')).toEqual([
      '## Turn 01',
      '### Message',
      '### Tool call read_file',
      '### Result',
    ]);
    expect(earlier).toMatchObject({ turn: '01', masked: 1 });
    expect(earlier?.text).toContain('First [masked: a test]');
  });

  test('are empty if its first message waits', async () => {
    const project = await given.session();
    const commit = await writeTurns(project, line, { '01': { records: [userSays('First')] } });
    expect(await read(project, commit, 'First')).toBeNull();
  });
});
