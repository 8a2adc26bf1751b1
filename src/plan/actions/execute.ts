/** EXECUTE: runs a shell script. */
import type { RepoPath } from '../../names.ts';
import type { CommandResult } from '../../ports/files.ts';
import { countMasks } from '../../session/masks/mask.ts';
import { whyUnreadable } from '../../session/paths/out-of-reach.ts';
import { parseRepoPath } from '../../session/paths/paths.ts';
import type { ActionDetails } from '../effects/action-details.ts';
import { renderOutput, shownLines, takeLast, noteResult } from '../effects/command-output.ts';
import type { CommandEffect } from '../effects/effect.ts';
import type { Inspect } from '../effects/virtual-files.ts';
import { described, refuse, toFirstLine, type ActionBase, type ActionHandler, type ActionType } from './action.ts';
import { description, optional } from './spec.ts';
import type { ActionWorld } from './world.ts';

export interface ExecuteAction extends ActionBase {
  type: 'EXECUTE';
  script: string;
  expectedOutcome: string | null;
  /** Relative to the project; `.` is the root. */
  cwd: string;
  env: Record<string, string>;
  timeoutMs: number | null;
  allowFailure: boolean;
  /** The number of output lines, from the end, that the report shows. */
  tail: number | null;
}

const maxTimeoutS = 86_400;
const maxTailLines = 100_000;

export const execute: ActionType<ExecuteAction> = {
  type: 'EXECUTE',
  purpose: 'runs a shell script; it stops at the first command that fails',
  parameters: [
    description,
    optional('Expected Outcome', 'text', 'what it should print or do', 'All tests pass.'),
    optional('cwd', 'directory', 'a directory of the project to run in', 'packages/api', ['working directory']),
    optional(
      'env',
      'env',
      'a nested list, one `KEY: value` a line; quotes around a whole value are taken off',
      '\n  - CI: 1',
      ['environment', 'environment variables'],
    ),
    optional('Timeout', 'seconds', 'in seconds', '60'),
    optional('Allow Failure', 'boolean', 'goes on with the next action when the script fails', 'true'),
    optional('Tail', 'number', 'how many of the last lines of output are reported', '50'),
  ],
  refused: [
    {
      names: ['background', 'run in background', 'in background', 'background process', 'detached', 'detach', 'daemon'],
      problem: 'EXECUTE runs nothing in the background: what a script starts ends with the script.',
      hint: 'Leave `Background` out; start the server, use it and stop it in one script: `npm start & server=$!`, the checks, `kill $server`.',
    },
  ],
  body: 'script',
  bodyExample: '```sh\nnpm test\n```',

  read(from) {
    const script = from.body.content();
    if (script?.trim() === '') from.report('The script is empty.');
    const timeoutS = from.number('Timeout', maxTimeoutS);
    const settings = {
      expectedOutcome: from.text('Expected Outcome'),
      cwd: from.directory('cwd') ?? '.',
      env: from.env('env'),
      timeoutMs: timeoutS === null ? null : Math.round(timeoutS * 1000),
      allowFailure: from.boolean('Allow Failure'),
      tail: from.number('Tail', maxTailLines),
    };
    return script === null ? null : { script, ...settings };
  },

  target: ({ script }) => toFirstLine(script),
  show: ({ script, expectedOutcome }) => ({
    kind: 'script',
    text: script,
    note: expectedOutcome === null ? null : `Expected: ${expectedOutcome}`,
  }),
};

export const executeHandler: ActionHandler<ExecuteAction, CommandEffect> = {
  runs: 'a command',
  params: (action) => ({
    command: action.script.replace(/\n$/, ''),
    cwd: action.cwd,
    ...described(action),
    ...(action.expectedOutcome === null ? {} : { expected_outcome: action.expectedOutcome }),
    ...(Object.keys(action.env).length === 0 ? {} : { env: action.env }),
    ...(action.timeoutMs === null ? {} : { timeout_s: action.timeoutMs / 1000 }),
    ...(action.allowFailure ? { allow_failure: true } : {}),
  }),
  looksAt: ({ cwd }) => (cwd === '.' ? null : (cwd as RepoPath)),

  async check(action, { inspect }) {
    const { index, script, env, timeoutMs } = action;
    if (script.trim() === '')
      return refuse(action, 'EXECUTE: the script is empty.', 'Give the commands in a fence, e.g. `npm test`.');
    const cwd = await findDirectory(action.cwd, inspect);
    if ('problem' in cwd)
      return refuse(
        action,
        `EXECUTE: cwd ${action.cwd}: ${cwd.problem}.`,
        'Name a directory of the project, `.` is its root.',
      );
    const [mask] = countMasks([script, ...Object.values(env)].join('\n')).keys();
    if (mask !== undefined)
      return refuse(
        action,
        `EXECUTE: the script has ${mask}, which stands for a secret that only the user knows.`,
        'Take it from the environment, or ask the user to set it.',
      );
    return { effect: { kind: 'command', action: index, script, cwd: cwd.path, env, timeoutMs } };
  },

  async perform(action, _effect, world) {
    const { script, cwd, env, timeoutMs } = action;
    const { value, restored, failure } = await world.run((start) => start(script, { cwd, env, timeoutMs }));
    const details = toDetails(action, value, world);
    if (failure !== null) return { status: 'FAILURE', details: { ...details, reason: failure } };
    const status = value.aborted ? 'ABORTED' : value.exitCode === 0 ? 'SUCCESS' : 'FAILURE';
    return { status, details: { ...details, ...(restored.length === 0 ? {} : { restored }) } };
  },
};

function toDetails({ tail }: ExecuteAction, result: CommandResult, world: ActionWorld): ActionDetails {
  const lines = tail ?? shownLines;
  const stdout = takeLast(result.stdout, lines);
  const stderr = takeLast(result.stderr, lines);
  const isCut = stdout !== result.stdout || stderr !== result.stderr;
  const note = noteResult(result);
  return {
    return_code: result.exitCode,
    ...(result.failedCommand === null ? {} : { failed_command: result.failedCommand }),
    ...(result.failedLine === null ? {} : { failed_line: result.failedLine }),
    stdout,
    stderr,
    timed_out: result.timedOut,
    ...(result.truncated ? { truncated: true } : {}),
    ...(note === null ? {} : { note }),
    ...(isCut ? { output_file: world.keepOutput(renderOutput(result)) } : {}),
    ...(result.aborted ? { reason: 'interrupted' } : {}),
  };
}

export async function findDirectory(cwd: string, inspect: Inspect): Promise<{ path: string } | { problem: string }> {
  if (cwd === '.') return { path: cwd };
  const parsed = parseRepoPath(cwd);
  if ('problem' in parsed) return parsed;
  const target = await inspect(parsed.path);
  if (target.kind === 'directory') return parsed;
  if (target.kind === 'file') return { problem: 'it is a file' };
  return { problem: whyUnreadable(parsed.path, target) ?? 'it is not a directory' };
}
