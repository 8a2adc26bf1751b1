/** An interrupted stream, into a place that refuses its calls. */
import { expect, test } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import type { Destination } from '../../../src/workflow/writes/run-write.ts';
import { streamInto } from '../../../src/workflow/writes/stream.ts';
import { writeLimits } from '../../../src/session/settings/write-limits.ts';
import { openWrite } from '../../../src/write/step.ts';
import { memoryProject } from '../../support/memory-repository.ts';

const unreachable = () => Promise.reject(new TeddyError('SERVER_UNREACHABLE', 'It does not answer.'));

async function interrupt(changes: Partial<Destination<string>>, pieces: string[]) {
  const project = await memoryProject();
  const controller = new AbortController();
  const write = openWrite(writeLimits, project.clock.now().getTime());
  let removals = 0;
  const place: Destination<string> = {
    id: 'id',
    target: 'a.txt',
    endMarker: 'DONE',
    content: async () => new Uint8Array(),
    write: () => write,
    save: async () => undefined,
    savedBytes: () => 0,
    take: () => undefined,
    finalize: async () => ({ outcome: 'written', isRejected: false }),
    remove: async () => void (removals += 1),
    ways: { finalize: 'finalize it', goOn: 'go on', look: 'look at it', giveUp: 'give it up' },
    ...changes,
  };
  async function* source() {
    for (const piece of pieces) yield new TextEncoder().encode(piece);
    controller.abort();
    await new Promise<never>(() => undefined);
  }
  const wish = { source: source(), eofIsDone: false, force: false, isCorrectable: false, signal: controller.signal };
  const error = await streamInto(project, place, wish, {
    onPrompt: () => undefined,
    decide: async () => 'leave' as const,
  }).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return { error, removals, said: project.said };
}

test('saved content is reported with the commands to inspect, resume, finalize and discard it', async () => {
  const { error, removals } = await interrupt({ savedBytes: () => 4 }, ['one\n']);
  expect(error).toMatchObject({ code: 'INTERRUPTED', message: expect.stringContaining('is saved') as string });
  for (const way of ['look at it', 'go on', 'finalize it', 'give it up'])
    expect((error as TeddyError).hint).toContain(`\`${way}\``);
  expect(removals).toBe(0);
});

test('a failing last save is still an interruption, which reports how much is lost', async () => {
  const { error } = await interrupt({ save: unreachable, savedBytes: () => 2 }, ['one\n']);
  expect(error).toMatchObject({
    code: 'INTERRUPTED',
    message: expect.stringContaining('the last 4 bytes could not be saved') as string,
  });
});

test('an empty session that cannot be removed causes a warning, and is an interruption all the same', async () => {
  const { error, said } = await interrupt({ remove: unreachable }, []);
  expect(error).toMatchObject({ code: 'INTERRUPTED', hint: 'None of it is saved; run the command again.' });
  expect(said.join()).toContain('It does not answer. `give it up` gives it up.');
});
