/** `teddy write` at a terminal: what is asked, and what becomes of the answers. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hasTerminal, runInTerminal, type TerminalRun } from '../support/run-in-terminal.ts';
import { openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

beforeEach(async () => {
  project = await openTeddyProject();
});

afterEach(() => project.close());

function inTerminal(...args: string[]): TerminalRun {
  return runInTerminal(args, { cwd: project.repo.root, env: project.env });
}

const recover = 'Recover previous write session? [Y,n,q,?] ';
const ways = 'What now? [f,s,o,d,q,?] ';

/** Leaves a stream that ended without DONE. */
async function interrupted(target: string, content: string): Promise<string> {
  const stream = ['write', 'stream', '--target', target, '--operation', 'create'];
  const cut = await project.run(stream, { stdin: content, asProcess: true });
  expect(cut.exitCode).toBe(1);
  return /write recover (\S+) /.exec(cut.stderr)?.[1] ?? '';
}

describe.skipIf(!hasTerminal)('at a terminal', () => {
  test('write recover with an id goes straight to the way, and says what each letter does', async () => {
    const run = inTerminal('write', 'recover', await interrupted('a.txt', 'one\n'));
    expect(await run.waitFor(ways)).not.toContain(recover);
    run.press('x\n');
    expect(await run.waitFor(ways)).toContain('d  discard it');
    run.press('q\n');
    expect(await run.exitCode).toBe(0);
    const { stdout } = await project.run(['doctor']);
    expect(stdout).toContain('was interrupted after it had received 4 bytes');
  });
});
