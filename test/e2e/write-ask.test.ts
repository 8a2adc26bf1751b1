/** `teddy write ask`, whole: the built executable, a model server on the loopback, real git. */
import { afterEach, describe, expect, test } from 'vitest';
import { openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';
import type { ServerAnswer } from '../support/model-server.ts';

let project: TeddyProject;

afterEach(() => project.close());

async function open(answers: ServerAnswer[], options: { chunkSize?: number; chunkDelayMs?: number } = {}) {
  project = await openTeddyProject({ answers, ...options });
}

function announce(target: string, operation = 'create', text = ''): ServerAnswer {
  const call = JSON.stringify({ intent: `Make ${target}`, target_file: target, operation });
  return { text, toolCalls: [{ name: 'WritePlanTool_begin', arguments: call }] };
}

describe('a connection that is cut', () => {
  const first = Array.from({ length: 200 }, (_, at) => `This is line number ${at + 1} of the file.\n`).join('');

  test('by kill -9, before and in a file, leaves the message, and the file goes on for it', async () => {
    const message = 'Write a.txt:\n  two lines, "quoted" – and no more';
    await open([first, announce('a.txt'), first, 'two\nDONE', 'Done.'], { chunkSize: 200, chunkDelayMs: 100 });
    const kill = async (args: string[], requests: number) => {
      const running = project.start(args);
      await project.server.waitForRequests(requests);
      running.kill('SIGKILL');
      expect((await running.result).signal).toBe('SIGKILL');
    };
    await kill(['write', 'ask', '-y', '-m', message], 1);
    await kill(['write', 'ask', '-y'], 3);
    const id =
      /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(await project.ok('write', 'list', '--json'))?.[0] ?? '';
    const resumed = await project.run(['write', 'ask', '--resume', id]);
    expect(resumed).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^a\.txt [0-9a-f]{10}\n$/) as unknown });
    for (const request of project.server.requests())
      expect(request.messages.find(({ role }) => role === 'user')?.content).toContain(message);
    const history = await project.ok('session', 'history', 'writes', '--format', 'markdown');
    expect(history.split('two lines, "quoted"')).toHaveLength(2);
    expect(history).toContain('Done.');
  });

  test('by Ctrl-C is saved as well, and the error says how to go on', async () => {
    await open([announce('a.txt'), `${first.repeat(40)}DONE`], { chunkSize: 200, chunkDelayMs: 100 });
    const running = project.start(['write', 'ask', '-y', '-m', 'Write it']);
    await project.server.waitForRequests(2);
    await new Promise((resolve) => setTimeout(resolve, 700));
    running.kill('SIGINT');
    const { exitCode, stderr } = await running.result;
    expect(exitCode).toBe(130);
    const id = /teddy write ask --resume ([0-9a-f-]{36})/.exec(stderr)?.[1] ?? '';
    expect(first.startsWith((await project.ok('write', 'show', id)).slice(0, 200))).toBe(true);
  });
});
