import { describe, expect, test } from 'vitest';
import { decodeTranscript } from '../../../src/conversation/history/decode-transcript.ts';
import { userMessages } from '../../../src/conversation/records/transcript.ts';
import { previewRequest } from '../../../src/workflow/turn/plan.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { approver, command, create, line, planOf, run, say, session, start } from '../../support/turns.ts';

const secret = 'hunter-two-9000';
const masked = '[masked: test key]';
const dir = `.teddy/sessions/${session}`;

async function begin(files: Record<string, string> = { 'README.md': '# Notes\n' }): Promise<MemoryProject> {
  const project = await memoryProject(files);
  project.secrets.set(secret, 'test key');
  await start(project);
  return project;
}

async function labelOf(project: MemoryProject): Promise<string> {
  return (await project.repository.store.readCommit(await project.tipOf(line))).message;
}

const readAt = async (project: MemoryProject, path: string) =>
  project.readAt(await project.tipOf(line), `${dir}/${path}`);

describe('a secret in the message', () => {
  test('is masked in the transcript, the label, the log and the request, and counted for the user', async () => {
    const project = await begin();
    const model = scriptedModel('Fine.');
    await say(project, `Use ${secret}\nand ${secret} again`, model);
    expect(project.said).toContain('warning: 2 secrets in your message were masked.');
    const { records } = decodeTranscript((await readAt(project, '01/transcript.jsonl')) ?? '');
    expect(userMessages(records)).toEqual([`Use ${masked}\nand ${masked} again`]);
    const [message] = (await project.repository.store.readCommit(await project.tipOf(line))).parents;
    expect((await project.repository.store.readCommit(message ?? ('' as never))).message).toContain(
      `message: Use ${masked}`,
    );
    expect(await readAt(project, '01/_context.log')).not.toContain(secret);
    expect(JSON.stringify(model.requests)).not.toContain(secret);
    expect(JSON.stringify(model.requests)).toContain(masked);
  });

  test('that is repeated makes the same message: the open turn is asked as before', async () => {
    const project = await begin();
    await say(project, `Use ${secret}`, null);
    const tip = await project.tipOf(line);
    await say(project, `Use ${secret}`, null);
    expect(await project.tipOf(line)).toBe(tip);
  });

  test('is masked in a preview', async () => {
    const project = await begin();
    const choice = { provider: 'none' as const, name: 'none', parameters: {}, model: null };
    const log = await previewRequest(project, { message: `Use ${secret}`, choice });
    expect(log).toContain(`Use ${masked}`);
    expect(log).not.toContain(secret);
  });
});

describe('a secret in an answer', () => {
  test('stays in the plan byte for byte, is reported by kind and line, and is masked in the label', async () => {
    const project = await begin();
    const plan = planOf([create('a.txt', `one\n${secret}\n`), command(`echo ${secret}`)]).replace(
      '# Do it',
      `# Do ${secret}`,
    );
    const outcome = await say(project, 'Do it', plan);
    expect(await readAt(project, '01/plan.md')).toBe(plan);
    const lines = plan.split('\n').flatMap((text, at) => (text.includes(secret) ? [at + 1] : []));
    expect(outcome).toMatchObject({ secrets: lines.map((at) => ({ kind: 'test key', line: at })) });
    expect(await labelOf(project)).toContain(`plan: Do ${masked}`);
    expect(await labelOf(project)).toContain(`EXECUTE echo ${masked}`);
    expect(await labelOf(project)).not.toContain(secret);
  });

  test('is not shown in half by a label that is cut in its middle', async () => {
    const project = await begin();
    await say(project, `${'x'.repeat(66)} ${secret}`, 'Fine.');
    await say(project, 'And', `${'y'.repeat(60)} ${secret} ${secret}`);
    for await (const { commit } of project.repository.store.firstParents(await project.tipOf(line))) {
      expect(commit.message).not.toContain(secret.slice(0, 4));
    }
  });
});

describe('a secret in a run', () => {
  test('is masked in a command’s output, short or long, and on the screen, even if it arrives in pieces', async () => {
    const project = await begin();
    await say(project, 'Do it', planOf([command('short'), command('long')]));
    project.command.run = async (script, _signal, onOutput) => {
      const stdout = script.startsWith('short') ? `key ${secret}\n` : `${'line\n'.repeat(150)}${secret}`;
      for (let at = 0; at < stdout.length; at += 7) onOutput?.('stdout', stdout.slice(at, at + 7));
      return { stdout, stderr: `err ${secret}\n` };
    };
    const asked = approver();
    const { report } = await run(project, { approver: asked });
    expect(report.action_logs[0]?.details).toMatchObject({ stdout: `key ${masked}\n`, stderr: `err ${masked}\n` });
    expect(report.action_logs[1]?.details?.stdout).toMatch(/^(?:line\n)+\[masked: test key\]$/);
    expect(await readAt(project, '01/output/2.log')).toContain(masked);
    expect(await readAt(project, '01/output/2.log')).not.toContain(secret);
    expect(await readAt(project, '01/report.md')).not.toContain(secret);
    expect(asked.shown.join('\n')).toContain(`stdout: key ${masked}`);
    expect(asked.shown.join('\n')).not.toContain(secret);
    expect(
      asked.shown
        .filter((text) => text.startsWith('stdout: '))
        .join('')
        .split('line').length,
    ).toBe(151);
  });

  test('is masked in the answer to a question and in the reason for a rejection', async () => {
    const project = await begin();
    await say(project, 'Do it', planOf(['### PROMPT\n\nWhich key?\n']));
    const { report } = await run(project, { approver: approver([], `It is ${secret}`) });
    expect(report.action_logs[0]?.details).toEqual({ answer: `It is ${masked}` });
    await say(project, 'Do it', planOf([create('a.txt')]));
    const rejected = await run(project, { reject: `not with ${secret}` });
    expect(rejected.report.run_summary.error).toBe(`not with ${masked}`);
    expect(await labelOf(project)).not.toContain(secret);
    expect(await readAt(project, '02/report.md')).not.toContain(secret);
  });

  test('is masked if a problem quotes the file, when the plan arrives and when it is executed', async () => {
    const project = await begin({ 'a.env': `NAME=one\nTOKEN=${secret}\n` });
    const plan = planOf([
      '### EDIT\n- **File Path:** a.env\n\n#### FIND:\n```\nTOKEN=hunter-one-9000\n```\n#### REPLACE:\n```\nx\n```\n',
    ]);
    const outcome = await say(project, 'Do it', plan);
    expect(JSON.stringify(outcome)).toContain(masked);
    expect(JSON.stringify(outcome)).not.toContain(secret);
    const { report } = await run(project);
    expect(report.validation_errors[0]?.hint).toContain(masked);
    expect(await readAt(project, '01/report.md')).not.toContain(secret);
  });
});

test('a problem quotes no part of a secret that is longer than the quotation', async () => {
  const long = Array.from({ length: 30 }, (_, at) => `p${at}q`).join('-');
  const project = await memoryProject({ 'a.env': `NAME=one\nTOKEN=${long}\n` });
  project.secrets.set(long, 'test key');
  await start(project);
  const find = (text: string) =>
    planOf([
      `### EDIT\n- **File Path:** a.env\n\n#### FIND:\n\`\`\`\n${text}\n\`\`\`\n#### REPLACE:\n\`\`\`\nx\n\`\`\`\n`,
    ]);
  const begins = long.slice(0, long.indexOf('p20q'));
  for (const text of [`TOKEN=${masked}`, `TOKEN=${begins}x`, `NAME=one\nTOKEN=${begins}x`]) {
    const outcome = await say(project, 'Do it', find(text));
    const { report } = await run(project);
    for (const shown of [outcome, report].map((value) => JSON.stringify(value))) {
      expect(shown).not.toMatch(/p2\dq/);
      expect(shown).toContain('FIND');
    }
  }
});

test('a problem that quotes the plan is masked, although the plan is not', async () => {
  const project = await begin();
  const outcome = await say(project, 'Do it', planOf([`### ${secret}\n\nDo it.\n`]));
  const problems = 'problems' in outcome ? outcome.problems.map(({ message }) => message).join() : '';
  expect(problems).toContain(masked);
  expect(problems).not.toContain(secret);
});

test('a text that cannot be masked stops the turn before anything is stored', async () => {
  const project = await begin();
  const tip = await project.tipOf(line);
  project.masker.mask = () => Promise.reject(new Error('broken'));
  await expect(say(project, `Use ${secret}`, 'Fine.')).rejects.toThrow('broken');
  expect(await project.tipOf(line)).toBe(tip);
});
