/** The only place that builds adapters and wires them. */
import { readFile, stat } from 'node:fs/promises';
import { buffer as readStream } from 'node:stream/consumers';
import { TeddyError } from './errors.ts';
import { openBundle } from './git/bundle.ts';
import { openRepository } from './git/repository.ts';
import { manualModel } from './model/manual.ts';
import { openaiModel } from './model/openai.ts';
import { readRecordedDirectory } from './model/recorded-directory.ts';
import { recordedModel, type RecordedAnswer } from './model/recorded.ts';
import type { Model, Notices, Project, ProviderName, Repository, Store } from './ports.ts';
import { systemClock } from './system/clock.ts';
import { editText } from './system/editor.ts';
import { projectFiles } from './system/files.ts';
import { sha256 } from './system/hash.ts';
import { systemIds } from './system/ids.ts';
import { shell } from './system/shell.ts';

export interface OpenProjectOptions {
  cwd: string;
  env: Record<string, string | undefined>;
  notices: Notices;
  /** Gets each git command with its time. */
  trace?: (line: string) => void;
  /** Called before each step of a publication; a test may crash there. */
  onStep?: (step: string) => void;
}

/** Opens the repository that `cwd` is in. `close` it: it holds a child process. Throws NOT_A_REPOSITORY, GIT_TOO_OLD. */
export async function openProject({ cwd, env, notices, trace, onStep }: OpenProjectOptions): Promise<Project> {
  const repository = await openRepository({ cwd, env, ...(trace ? { trace } : {}), ...(onStep ? { onStep } : {}) });
  const clock = systemClock();
  return {
    repository,
    clock,
    ids: systemIds(clock),
    hash: sha256,
    notices,
    filesOf: projectFiles,
    shellOf: (root) => shell(root, { environment: env }),
  };
}

export interface ModelWish {
  provider?: string | undefined;
  model?: string | undefined;
  /** A file with the answer; `-` is stdin. */
  from?: string | undefined;
  recording?: string | undefined;
  /** With the provider manual and no file: the answer is written in the user's editor. */
  inEditor: boolean;
  /** Where relative paths start. */
  cwd: string;
  env: Record<string, string | undefined>;
  /** Answers of a recording that is a branch or a bundle. */
  readRecordedLine(store: Store, revision?: string): Promise<RecordedAnswer[]>;
}

export interface ChosenModel {
  provider: ProviderName | 'none';
  name: string;
  parameters: Record<string, number | string | boolean>;
  model: Model | null;
  /** Why there is no model, when one was to be asked; the message is committed all the same. */
  missing: TeddyError | null;
}

const providers = ['openai', 'manual', 'recorded'];
const defaultOpenaiModel = 'gpt-5';

/** Flags, then the environment, then git's configuration. Throws UNKNOWN_PROVIDER, FILE_NOT_FOUND, BAD_RECORDING. */
export async function chooseModel(project: Project, wish: ModelWish): Promise<ChosenModel> {
  const { store } = project.repository;
  const implied = wish.from !== undefined ? 'manual' : wish.recording !== undefined ? 'recorded' : undefined;
  const provider = wish.provider ?? implied ?? (await store.setting('teddy.provider'));
  if (provider !== undefined && !providers.includes(provider)) {
    throw new TeddyError(
      'UNKNOWN_PROVIDER',
      `There is no provider ${JSON.stringify(provider)}.`,
      `Choose one of: ${providers.join(', ')}.`,
    );
  }
  if (implied !== undefined && provider !== implied) {
    const flag = implied === 'manual' ? '--from' : '--recording';
    throw new TeddyError(
      'USAGE',
      `${flag} and the provider ${provider} exclude each other.`,
      `Leave ${flag} or --provider out.`,
    );
  }
  if (provider === 'manual') {
    if (wish.from === '-' && process.stdin.isTTY) project.notices.info('Paste the answer, then press Ctrl-D.');
    return chooseManual(project, wish);
  }
  if (provider === 'recorded') return chooseRecorded(project, wish);
  return chooseOpenai(store, wish);
}

async function chooseManual(project: Project, wish: ModelWish): Promise<ChosenModel> {
  const chosen = { provider: 'manual' as const, name: 'manual', parameters: {}, missing: null };
  if (wish.from === undefined && !wish.inEditor) return { ...chosen, model: null };
  // Read before anything is committed: a missing file is wrong usage, not an open turn.
  const answer =
    wish.from === undefined ? await composeText(project, wish.env, '', 'plan.md') : await readAnswer(wish.from);
  return { ...chosen, model: manualModel({ readAnswer: () => Promise.resolve(answer) }) };
}

async function readAnswer(from: string): Promise<string> {
  const bytes = from === '-' ? await readStream(process.stdin) : await readAnswerFile(from);
  const text = bytes.toString('utf8');
  if (Buffer.from(text).equals(bytes)) return text;
  throw new TeddyError(
    'USAGE',
    `The answer in ${from} is not UTF-8 text.`,
    'Save it as UTF-8 and run the command again.',
  );
}

async function readAnswerFile(path: string): Promise<Buffer> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new TeddyError(
      'FILE_NOT_FOUND',
      `The answer cannot be read from ${path}: ${error.code ?? error.message}.`,
      'Give a file, or - for stdin.',
    );
  });
}

async function chooseRecorded(project: Project, wish: ModelWish): Promise<ChosenModel> {
  const source = wish.recording ?? (await project.repository.store.setting('teddy.recording'));
  if (source === undefined) {
    throw new TeddyError(
      'BAD_RECORDING',
      'The provider recorded needs a recording.',
      'Name it: --recording <directory, bundle or branch>.',
    );
  }
  const answers = await readRecording(project.repository, wish, source);
  const model = recordedModel({ source, answers, onNotice: (text) => project.notices.warn(text) });
  return { provider: 'recorded', name: model.model, parameters: {}, model, missing: null };
}

async function readRecording(repository: Repository, wish: ModelWish, source: string): Promise<RecordedAnswer[]> {
  const found = await stat(source).catch(() => null);
  if (found?.isDirectory()) return readRecordedDirectory(source, sha256);
  if (!found?.isFile()) return wish.readRecordedLine(repository.store, source);
  const bundle = await openBundle(source, wish.env);
  try {
    return await wish.readRecordedLine(bundle.store);
  } finally {
    await bundle.close();
  }
}

async function chooseOpenai(store: Store, wish: ModelWish): Promise<ChosenModel> {
  const apiKey = wish.env['OPENAI_API_KEY'] || undefined;
  const baseUrl = wish.env['OPENAI_BASE_URL'] || (await store.setting('teddy.baseUrl')) || undefined;
  const wanted = wish.model ?? (await store.setting('teddy.model'));
  // A model of OpenAI's own is a fair guess only where OpenAI is asked.
  const name = wanted ?? (apiKey !== undefined && baseUrl === undefined ? defaultOpenaiModel : undefined);
  const isReachable = apiKey !== undefined || baseUrl !== undefined;
  if (!isReachable || name === undefined) {
    return { provider: 'none', name: 'none', parameters: {}, model: null, missing: toNoModel(isReachable) };
  }
  const parameters = toParameters(await store.setting('teddy.temperature'));
  return { provider: 'openai', name, parameters, model: openaiModel({ apiKey, baseUrl, model: name }), missing: null };
}

function toParameters(temperature: string | undefined): Record<string, number> {
  if (temperature === undefined) return {};
  const value = Number(temperature);
  if (temperature.trim() !== '' && Number.isFinite(value)) return { temperature: value };
  throw new TeddyError(
    'BAD_SETTING',
    `teddy.temperature is ${JSON.stringify(temperature)}.`,
    'It is a number: `git config teddy.temperature 0.2`.',
  );
}

/** The ways out. */
function toNoModel(isReachable: boolean): TeddyError {
  return new TeddyError(
    'NO_MODEL',
    isReachable ? 'No model is named for this endpoint.' : 'No model is configured.',
    isReachable
      ? '`git config teddy.model <name>` or --model <name>.'
      : 'Set OPENAI_API_KEY (and OPENAI_BASE_URL, `git config teddy.model <name>` for another endpoint), or answer by hand: `teddy session plan --from answer.md`.',
  );
}

/** The user's editor, by git's rules. */
export async function composeText(
  project: Project,
  env: Record<string, string | undefined>,
  initial: string,
  fileName: string,
): Promise<string> {
  const configured = env['GIT_EDITOR'] || (await project.repository.store.setting('core.editor'));
  const editor = configured || env['VISUAL'] || env['EDITOR'] || 'vi';
  return editText(initial, { editor, fileName });
}
