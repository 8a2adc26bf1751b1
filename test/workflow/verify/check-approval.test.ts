/** `verify --require-approval` and agents' plans: whether each agent went ahead with a plan, or got a no. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { AgentName } from '../../../src/agents/agents.ts';
import { advance, openFollower, settle } from '../../../src/workflow/capture/follow-log.ts';
import { giveVerdict, type VerdictRequest } from '../../../src/workflow/run/give-verdict.ts';
import { verifySession } from '../../../src/workflow/verify/session.ts';
import { claudePlans, codexPlans, geminiPlans, qwenPlans } from '../../support/agent-plan-fixtures.ts';
import { memoryCapture } from '../../support/memory-agent-logs.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';

type Line = Record<string, unknown>;

const path = '/home/ada/logs/s1.jsonl';
const claude = claudePlans('2.1.330');
const firstCall = claude.findIndex((line) => JSON.stringify(line).includes('"toolu_2"'));

let project: MemoryProject;

beforeEach(async () => {
  project = await memoryProject();
});

async function take(agent: AgentName, lines: readonly Line[]): Promise<void> {
  const capture = memoryCapture(agent);
  capture.files.set(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const options = { cwd: null, isOurs: async () => true, isLeftOut: () => false };
  const follower = await openFollower(project, capture, { agent, path }, options);
  await advance(follower);
  await settle(follower);
}

/** The turns whose plan needs an approval and has none. */
async function missing(requireApproval: 'anybody' | 'others' = 'anybody') {
  const { lines } = await verifySession(project, { all: true, fsck: false, requireApproval });
  return lines.flatMap(({ violations }) => violations.map(({ rule, turn }) => `${rule} ${turn ?? ''}`));
}

const give = (verdict: VerdictRequest['verdict'], turn: string) =>
  giveVerdict(project, { selector: 'add-a-login', turn, verdict, text: 'So be it.' });

/** The user's next message. */
const says = (last: Line | undefined, content: string): Line => ({
  ...last,
  type: 'user',
  uuid: 'next',
  parentUuid: last?.['uuid'],
  message: { role: 'user', content },
});

describe('an agent went ahead', () => {
  test.each<[AgentName, Line[], string]>([
    ['claude-code', claude, '02'],
    ['codex', codexPlans(), '02'],
    ['gemini', geminiPlans(), '02'],
    ['qwen', qwenPlans(), '02'],
  ])('%s: with its second plan, not with the first, which was refused', async (agent, lines, turn) => {
    await take(agent, lines);
    expect(await missing()).toEqual([`approval ${turn}`]);
    await give('approved', turn);
    expect(await missing()).toEqual([]);
    expect(await missing('others')).toEqual([`approval ${turn}`]);
  });

  test('even if somebody rejects its plan afterwards', async () => {
    await take('claude-code', claude);
    await give('rejected', '02');
    expect(await missing()).toEqual(['approval 02']);
    await give('approved', '01');
    expect(await missing()).toEqual(['approval 02']);
  });

  test('although it makes another plan later', async () => {
    const second = claude.findIndex((line) => JSON.stringify(line).includes('"toolu_4"'));
    const accepted = claude.map((line, at) => {
      if (at !== firstCall + 1) return line;
      const { message } = claude[second + 1] as { message: { content: [Line] } };
      return { ...line, message: { ...message, content: [{ ...message.content[0], tool_use_id: 'toolu_2' }] } };
    });
    await take('claude-code', accepted);
    expect(await missing()).toEqual(['approval 01', 'approval 02']);
  });
});

describe('an agent did not go ahead', () => {
  test('if the user said no in the agent’s own dialog, and something else then', async () => {
    const some = claude.slice(0, firstCall + 2);
    await take('claude-code', [...some, says(some.at(-1), 'Leave it.')]);
    expect(await missing()).toEqual([]);
  });

  test('if it was killed at its plan, and the user said something else later', async () => {
    const some = claude.slice(0, firstCall + 1);
    await take('claude-code', [...some, says(some.at(-1), 'Where were we?')]);
    expect(await missing()).toEqual([]);
  });

  test('while its plan waits', async () => {
    await take('codex', codexPlans().slice(0, 7));
    expect(await missing()).toEqual([]);
  });
});
