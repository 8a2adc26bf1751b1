/** The only place that creates adapters and wires them together. */
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { TeddyError } from './errors.ts';
import type { AgentName } from './agents/agents.ts';
import { openBundle } from './git/bundle.ts';
import { isAlive, processNames, readBootId, thisMachine } from './disk/process-identity.ts';
import { openRepository, type OpenedRepository } from './git/repository.ts';
import { journalIn } from './journal/journal.ts';
import type { Capture } from './ports/agent-logs.ts';
import { gitTrust } from './git/run/trust.ts';
import { manualModel, keyedModel, keyFromEnvironment, toNoModel, type ApiKey } from './model/keyed-model.ts';
import { parseEndpoint } from './model/endpoint.ts';
import { toFailure, toTeddyError } from './model/failure.ts';
import {
  fetchList,
  findLocalServers,
  listModels,
  listUrl,
  readOllamaWindow,
  type ServedModel,
} from './model/served-models.ts';
import { readRecordedDirectory } from './model/recorded-directory.ts';
import { recordedModel, type RecordedAnswer } from './model/recorded.ts';
import type { AgentLogDirectory, ExportDirectory, ExportTarget, Remains, SourceFile } from './ports/disk.ts';
import type { AgentSetup } from './ports/agent-setup.ts';
import type { ModelChoice, SetupTools } from './ports/setup.ts';
import type { HookSource, MessageFile, Repository, Store } from './ports/git.ts';
import type { Model, ProviderName } from './ports/model.ts';
import type { Forge } from './ports/web.ts';
import type { Clock, Notices, ProcessTree, Project } from './ports/project.ts';
import { decideSetting, requireUsable } from './session/settings/decide-setting.ts';
import { findPreset, presets, type Preset, type PresetName } from './session/settings/presets.ts';
import { providers } from './session/settings/settings.ts';
import { formatCount } from './session/text/format-count.ts';
import { toShellWord } from './session/text/shell-word.ts';
import { writeLimits } from './session/settings/write-limits.ts';
import { readAnswer, projectFiles, scratchFiles } from './system/files/files.ts';
import { agentLogs } from './system/agents/agent-logs.ts';
import { followerStates, spool } from './system/agents/spool.ts';
import { allowedCommands, readSettings } from './system/settings/settings.ts';
import { answerStaging } from './system/runs/answer-staging.ts';
import { systemClock, systemIds, sha256 } from './system/ids.ts';
import { editText } from './system/editor.ts';
import { masker } from './system/secrets/masker.ts';
import { serverRecords } from './system/runs/server-record.ts';
import { knownModels } from './system/settings/known-models.ts';
import { callers, processTree } from './system/shell/running-processes.ts';
import { runJournals } from './system/runs/run-journal.ts';
import { shell } from './system/shell/shell.ts';
import { writeStaging } from './system/writes/write-staging.ts';

export interface OpenProjectOptions {
  cwd: string;
  env: Record<string, string | undefined>;
  notices: Notices;
  /** Called with each git command and its duration. */
  trace?: (line: string) => void;
  /** Called before each step of a publication; tests simulate a crash in it. */
  onStep?: (step: string) => void;
  /**
   * `once`: teddy reads HEAD immediately after opening, and until then neither asks anybody nor waits for anything.
   * `always`: teddy changes nothing, and reports the current HEAD.
   */
  trustsHead?: 'once' | 'always' | undefined;
  /** By default, the machine's own process tree. */
  tree?: ProcessTree | undefined;
}

/**
 * Opens the repository that contains `cwd`. The caller must call `close`, because the project has a child process.
 * Throws NOT_A_REPOSITORY, GIT_TOO_OLD.
 */
export async function openProject({
  cwd,
  env,
  notices,
  trace,
  onStep,
  trustsHead,
  tree = processTree(),
}: OpenProjectOptions): Promise<Project> {
  const hooks = { ...(trace ? { trace } : {}), ...(onStep ? { onStep } : {}) };
  const repository = await openRepository({ cwd, env, ...hooks, trustsHead });
  const clock = systemClock();
  const root = repository.workspace?.root ?? null;
  const settings = readSettings({ env, store: repository.store, root, notices });
  const journal = journalIn({ dir: join(repository.commonDir, 'teddy', 'journal'), onStep });
  return {
    repository,
    clock,
    ids: systemIds(clock),
    hash: sha256,
    notices,
    filesOf: projectFiles,
    shellOf: (root) => {
      const holder = async () => `${await processNames(thisMachine).ownName()}\n${repository.commonDir}`;
      return shell(root, { environment: env, holder });
    },
    masker: masker({ environment: env, root, findOtherRoots: () => findOtherRoots(repository), settings, notices }),
    pages: {
      async fetch(url, signal) {
        const readsThroughProxy = async () => (await settings.get('readThroughProxy')) === 'true';
        return (await import('./system/web/page-fetcher.ts')).pageFetcher({ readsThroughProxy }).fetch(url, signal);
      },
    },
    answers: answerStaging({
      journal,
      claims: join(repository.commonDir, 'teddy', 'talks'),
      ...thisMachine,
      onStep,
      warn: (text) => notices.warn(text),
    }),
    syntax: {
      check: async (path, text) => (await import('./system/writes/check-syntax.ts')).syntaxChecker().check(path, text),
    },
    scratch: scratchFiles(),
    processes: processNames(thisMachine),
    callers: callers({ env, tree }),
    servers: serverRecords({
      path: join(repository.commonDir, 'teddy', 'server.json'),
      ...thisMachine,
    }),
    setup: followerStates(join(repository.commonDir, 'teddy', 'setup')),
    spool: spool({ dir: join(repository.commonDir, 'teddy', 'spool'), clock, ...thisMachine, onStep }),
    writes: writeStaging({
      dir: join(repository.commonDir, 'teddy', 'write_sessions'),
      clock,
      ...thisMachine,
      onStep,
    }),
    writeLimits,
    journals: runJournals({ dir: join(repository.commonDir, 'teddy'), ...thisMachine, onStep }),
    journal,
    allowed: allowedCommands(join(repository.commonDir, 'teddy', 'allowed')),
    remains: lazyRemains(repository, clock),
    trust: gitTrust(repository.commonDir),
    settings,
    models: knownModels({
      dir: join(repository.commonDir, 'teddy'),
      clock,
      store: repository.store,
      urlOf: async (provider) => {
        const preset = findPreset(provider);
        if (preset === undefined) return null;
        return (await findBaseUrl({ settings, repository }, preset, env)) ?? preset.url;
      },
      listedAs,
    }),
    judgeLine: async (project, line) =>
      (await import('./workflow/sharing/check-incoming.ts')).judgeFetched(project, line),
  };
}

/** Starts another process of this program, for work that nothing waits for. */
export async function startBeside(words: readonly string[], cwd: string): Promise<void> {
  await (await import('./system/shell/process-group.ts')).startDetached(words, cwd);
}

/** Opens other agents' logs, and the stored state of each log in this clone. */
export function openCapture({ repository, spool }: Project, env: Record<string, string | undefined>): Capture {
  const { commonDir } = repository as OpenedRepository;
  return {
    logs: agentLogs({ env, spoolDir: spool.dir }),
    states: followerStates(join(commonDir, 'teddy', 'capture')),
    isAlive: async (pid) => isAlive(pid, await readBootId()),
  };
}

/**
 * Returns the provider's name in the list, which covers only providers' own endpoints and lists Gemini under its
 * maker's name.
 */
function listedAs(provider: string, url: string): string | null {
  if (findPreset(provider)?.url !== url) return null;
  return provider === 'gemini' ? 'google' : provider;
}

/** Opens the remains on first use, because only the doctor needs them. */
function lazyRemains({ commonDir, openRemains }: OpenedRepository, clock: Clock): Remains {
  const open = async () => {
    const { allRemains } = await import('./system/runs/remains.ts');
    return allRemains(await openRemains(), { dir: join(commonDir, 'teddy'), clock, ...thisMachine });
  };
  let opened: Promise<Remains> | undefined;
  const remains = () => (opened ??= open());
  return {
    look: async () => (await remains()).look(),
    clear: async (remain) => (await remains()).clear(remain),
    checkObjects: async (tips, not) => (await remains()).checkObjects(tips, not),
    unreachableCommits: async () => (await remains()).unreachableCommits(),
    reachedEntryIds: async () => (await remains()).reachedEntryIds(),
    reflogCommits: async () => (await remains()).reflogCommits(),
  };
}

/**
 * Returns the same project, with a bundle in place of its repository. The caller must call `close` on the repository,
 * which is in a temporary directory.
 */
export async function openBundled(
  project: Project,
  path: string,
  from: { cwd: string; env: Record<string, string | undefined> },
): Promise<Project> {
  return { ...project, repository: await openBundle(path, from) };
}

/** The scripts come from the package of `main`, the running executable, to which the hooks fall back. */
export function hookSource(main: string, env: Environment): HookSource {
  return {
    program: { node: process.execPath, main },
    isOnPath: () => hasProgram('teddy', env),
    readScript: async (name) => (await import('./system/agents/hook-scripts.ts')).readHookScript(main, name),
  };
}

/** Returns true if the user's PATH has the program. */
export async function hasProgram(name: string, env: Environment): Promise<boolean> {
  return (await import('./system/find-program.ts')).findProgram(name, env) !== null;
}

/** Finds other agents on this machine, and teddy's hooks in their settings. The scripts come from the package of `main`. */
export async function openAgentSetup(main: string, env: Environment): Promise<AgentSetup> {
  const [{ agentSetup }, { readHookScript }] = await Promise.all([
    import('./system/agents/agent-setup.ts'),
    import('./system/agents/hook-scripts.ts'),
  ]);
  const program = { node: process.execPath, main };
  return agentSetup({ env, source: { program, readScript: (name) => readHookScript(main, name) } });
}

/** Returns the directory of this installation; it contains the pages and the demo. */
export async function findPackage(main: string): Promise<string> {
  return (await import('./system/agents/hook-scripts.ts')).findPackage(main);
}

/** Opens the parts of this machine that `teddy init` needs. The package's files come from the package of `main`. */
export async function openSetupTools(project: Project, main: string, env: Environment): Promise<SetupTools> {
  const [{ mcpFiles, mcpText }, { readPackageFile }] = await Promise.all([
    import('./system/agents/mcp-settings.ts'),
    import('./system/agents/hook-scripts.ts'),
  ]);
  return {
    readPackageFile: (path) => readPackageFile(main, path),
    mcpText,
    mcpFiles: () => mcpFiles(env),
    isOnPath: hookSource(main, env).isOnPath,
    findModels: () => findModelChoices(project, env),
    listModels: async (provider) => (await listServedModels(project, { provider, env })).models.map(({ id }) => id),
  };
}

/** Keys in the environment come first, because the user chose them. Sends nothing beyond this machine. */
async function findModelChoices(project: Project, env: Environment): Promise<ModelChoice[]> {
  const keyed = presets.map(async (preset): Promise<ModelChoice[]> => {
    const { name: provider, keyVariable } = preset;
    if (keyVariable === null || keyFromEnvironment(preset, env) === null) return [];
    const url = await findBaseUrl(project, preset, env);
    const model = provider === 'openai' && url === undefined ? defaultOpenaiModel : null;
    return [{ provider, model, url: url ?? preset.url, why: `${keyVariable} is set`, isUntried: true }];
  });
  const local = (await findLocalServers()).map(({ name: provider, url, models }) => {
    return { provider, model: models[0] ?? null, url, why: `it answers at ${url}`, isUntried: false };
  });
  return [...(await Promise.all(keyed)).flat(), ...local];
}

/** Opens the file in which git keeps the message of a commit in progress. */
export async function openMessageFile(path: string): Promise<MessageFile> {
  return (await import('./system/agents/hook-scripts.ts')).messageFile(path);
}

/**
 * Opens the repository that GitHub's variables name, or the merge request of a job on GitLab. Returns null when such a
 * job has no token. Throws USAGE when another variable is missing.
 */
export async function openForge(env: Environment, signal: AbortSignal): Promise<Forge | null> {
  if (env['GITLAB_CI'] === 'true') return openMergeRequest(env, signal);
  const { GITHUB_API_URL: api = 'https://api.github.com', GITHUB_GRAPHQL_URL: graphql = `${api}/graphql` } = env;
  const { GITHUB_REPOSITORY: repository = '', GITHUB_TOKEN: token = '' } = env;
  if (!/^\w[\w-]*\/(?!\.+$)[\w.-]+$/.test(repository))
    throw new TeddyError('USAGE', 'GITHUB_REPOSITORY names no repository.', 'Set it to `owner/name`.');
  if (token === '')
    throw new TeddyError('USAGE', 'GITHUB_TOKEN is not set.', 'Set it to a token with `pull-requests: write`.');
  return (await import('./system/web/github.ts')).githubForge({ api, graphql, repository, token, signal });
}

async function openMergeRequest(env: Environment, signal: AbortSignal): Promise<Forge | null> {
  // In a pipeline of the fork's project, CI_PROJECT_ID and CI_PROJECT_URL are the fork's.
  const { CI_API_V4_URL: api = '', CI_MERGE_REQUEST_PROJECT_ID: project = env['CI_PROJECT_ID'] ?? '' } = env;
  const { CI_MERGE_REQUEST_PROJECT_URL: page = env['CI_PROJECT_URL'] ?? '', CI_MERGE_REQUEST_IID: iid = '' } = env;
  if (!URL.canParse(api) || !/^\d+$/.test(project) || !/^\d+$/.test(iid)) {
    const message = 'CI_API_V4_URL, CI_PROJECT_ID and CI_MERGE_REQUEST_IID do not name a merge request.';
    throw new TeddyError('USAGE', message, 'Run the job in the pipeline of a merge request.');
  }
  const token = env['TEDDY_GITLAB_TOKEN'] ?? '';
  if (token === '') return null;
  const { gitlabForge } = await import('./system/web/gitlab.ts');
  return gitlabForge({ api, page, project, request: Number(iid), token, signal });
}

/** Throws FILE_NOT_FOUND. */
export async function openSource(path: string, cwd: string): Promise<SourceFile> {
  return (await import('./system/files/export-file.ts')).openSourceFile(path, cwd);
}

/** `force` allows replacing an existing file. */
export async function openExportFile(path: string, options: { cwd: string; force: boolean }): Promise<ExportTarget> {
  return (await import('./system/files/export-file.ts')).exportFile(path, options);
}

/** Opens a new or empty directory. */
export async function openExportDirectory(path: string, cwd: string): Promise<ExportDirectory> {
  return (await import('./system/files/export-file.ts')).exportDirectory(path, cwd);
}

/** Throws SYSTEM_FAILED when nothing reveals the agent's home. */
export async function openAgentPlace(
  agent: AgentName,
  options: { cwd: string; env: Record<string, string | undefined> },
): Promise<AgentLogDirectory> {
  return (await import('./system/agents/agent-log-directory.ts')).agentLogDirectory(agent, options);
}

async function findOtherRoots(repository: OpenedRepository): Promise<string[]> {
  if (repository.workspace !== null && !(await repository.hasLinkedWorkTrees())) return [];
  return (await repository.workTrees()).map(({ root }) => root);
}

export interface ModelOptions {
  provider?: string | undefined;
  model?: string | undefined;
  /** A file with the answer; `-` is stdin. */
  from?: string | undefined;
  recording?: string | undefined;
  /** When false, requests the answer in one piece; when undefined, `teddy.stream` decides. */
  stream?: boolean | undefined;
  /** With the manual provider and no file, the user writes the answer in an editor. */
  inEditor: boolean;
  /** When false, sends no request to choose the model, saves nothing, and uses only facts that are already stored. */
  asksEndpoint?: boolean;
  /** The directory to which relative paths refer. */
  cwd: string;
  env: Record<string, string | undefined>;
  stdin: Readable & { isTTY?: boolean | undefined };
  /** Returns the answers of a recording that is a branch or a bundle. */
  readRecordedLine(store: Store, revision?: string): Promise<RecordedAnswer[]>;
}

export interface ChosenModel {
  provider: ProviderName | 'none';
  name: string;
  parameters: Record<string, number | string | boolean>;
  model: Model | null;
  /** Why there is no model although the command needs one; the message is committed anyway. */
  missing: TeddyError | null;
}

const defaultOpenaiModel = 'gpt-5';

/**
 * Chooses the model from the flags, then from the settings. Throws UNKNOWN_PROVIDER, BAD_SETTING, FILE_NOT_FOUND,
 * BAD_RECORDING.
 */
export async function chooseModel(project: Project, options: ModelOptions): Promise<ChosenModel> {
  const implied = options.from !== undefined ? 'manual' : options.recording !== undefined ? 'recorded' : undefined;
  if (options.provider !== undefined) refuseUnknownProvider(options.provider);
  const provider = options.provider ?? implied ?? (await project.settings.get('provider'));
  if (implied !== undefined && provider !== implied) {
    const flag = implied === 'manual' ? '--from' : '--recording';
    throw new TeddyError(
      'USAGE',
      `${flag} cannot be used with the provider ${provider}.`,
      `Omit ${flag} or --provider.`,
    );
  }
  if (provider === 'manual') {
    if (options.from === '-' && options.stdin.isTTY === true)
      project.notices.info('Paste the answer, then press Ctrl-D.');
    return chooseManual(project, options);
  }
  if (provider === 'recorded') return chooseRecorded(project, options);
  return chooseServer(project, presets.find(({ name }) => name === provider) ?? presets[0], options);
}

function refuseUnknownProvider(name: string): void {
  if (providers.some((provider) => provider === name)) return;
  throw new TeddyError(
    'UNKNOWN_PROVIDER',
    `There is no provider ${JSON.stringify(name)}.`,
    `Choose one of: ${providers.join(', ')}.`,
  );
}

async function chooseManual(project: Project, options: ModelOptions): Promise<ChosenModel> {
  const chosen = { provider: 'manual' as const, name: 'manual', parameters: {}, missing: null };
  if (options.from === undefined && !options.inEditor) return { ...chosen, model: null };
  // Reads the answer before any commit, so that a missing file is a usage error and does not leave an open turn.
  const answer =
    options.from === undefined
      ? await composeText(project, options, '', 'plan.md')
      : await readAnswer(options.from, options);
  return answerByHand(answer);
}

/** Uses this text as the answer, without asking a model. */
export function answerByHand(text: string): ChosenModel {
  const model = manualModel({ readAnswer: () => Promise.resolve(text) });
  return { provider: 'manual', name: 'manual', parameters: {}, model, missing: null };
}

async function chooseRecorded(project: Project, options: ModelOptions): Promise<ChosenModel> {
  const source = options.recording ?? (await project.settings.get('recording'));
  if (source === undefined) {
    throw new TeddyError(
      'BAD_RECORDING',
      'The provider recorded needs a recording.',
      'Name one with --recording <directory, bundle or branch>.',
    );
  }
  const answers = await readRecording(project.repository, options, source);
  const model = recordedModel({ source, answers, onNotice: (text) => project.notices.warn(text) });
  return { provider: 'recorded', name: model.model, parameters: {}, model, missing: null };
}

async function readRecording(repository: Repository, options: ModelOptions, source: string): Promise<RecordedAnswer[]> {
  const path = resolve(options.cwd, source);
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory()) return readRecordedDirectory(path, sha256);
  if (!found?.isFile()) return options.readRecordedLine(repository.store, source);
  const bundle = await openBundle(source, options);
  try {
    return await options.readRecordedLine(bundle.store);
  } finally {
    await bundle.close();
  }
}

type Environment = Record<string, string | undefined>;

async function chooseServer(
  project: Project,
  preset: (typeof presets)[number],
  options: ModelOptions,
): Promise<ChosenModel> {
  const { model: wanted, env, stream, asksEndpoint = true } = options;
  const { settings, notices } = project;
  const baseUrl = await findBaseUrl(project, preset, env);
  const known = keyFromEnvironment(preset, env);
  // A preset's own endpoint works only with its key; the user named any other endpoint, which may not need a key.
  const needsKey = baseUrl === undefined && preset.keyVariable !== null;
  const key = known ?? (needsKey ? await findKeyOf(project, preset, env) : null);
  const isReachable = !needsKey || key !== null;
  // Assuming one of OpenAI's models is reasonable only if the endpoint is OpenAI's own.
  const guess = preset.name === 'openai' && baseUrl === undefined ? defaultOpenaiModel : undefined;
  const name = wanted ?? (await settings.get('model')) ?? guess;
  if (!isReachable || name === undefined) {
    const local =
      isReachable || !asksEndpoint ? null : await offerLocal(project, wanted ?? (await settings.get('model')));
    if (local !== null) return chooseServer(project, local.preset, { ...options, model: local.model });
    return {
      provider: 'none',
      name: 'none',
      parameters: {},
      model: null,
      missing: toNoModel(preset, isReachable, env),
    };
  }
  if (asksEndpoint) await askWindow(project, preset, { url: baseUrl ?? preset.url, model: name, key });
  const model = keyedModel({
    preset: preset.name,
    baseUrl,
    model: name,
    isStreamed: stream ?? (await settings.get('stream')) !== 'false',
    key,
    findKey: () => findKeyOf(project, preset, env),
    onWait: (text) => notices.info(text),
    onWarning: (text) => notices.warn(text),
    refused: {
      read: () => project.models.refusedFields(baseUrl ?? preset.url, name),
      keep: (fields) => project.models.keepRefused(baseUrl ?? preset.url, name, fields),
    },
  });
  return { provider: preset.name, name, parameters: await readParameters(project), model, missing: null };
}

const dayMs = 24 * 60 * 60 * 1000;
const listTimeoutMs = 1000;
/** The servers that report their models' windows. */
const telling: readonly string[] = ['openrouter', 'lmstudio', 'llamacpp', 'vllm'];

/**
 * Asks an endpoint that reports it for the model's window, once a day; asks Ollama each time, because it cuts longer
 * requests.
 */
async function askWindow(
  { settings, models, notices }: Project,
  preset: (typeof presets)[number],
  { url, model, key }: { url: string; model: string; key: ApiKey | null },
): Promise<void> {
  const limit = await settings.get('contextTokens');
  if (preset.name === 'ollama') {
    const found = await readOllamaWindow({ url }, model);
    if (found === null) return;
    await models.keepServed(url, new Map([[model, { window: found.used, answer: null, price: null }]]));
    if ((limit === undefined ? found.used : Number(limit)) >= (found.possible ?? found.used)) return;
    if (limit !== undefined && Number(limit) <= found.used) return;
    notices.warn(
      `Ollama shows ${model} only the last ${formatCount(found.used)} tokens of a request (num_ctx) and silently drops the rest; the model supports ${formatCount(found.possible ?? found.used)}. Start the server with OLLAMA_CONTEXT_LENGTH=<tokens>, or set num_ctx in a Modelfile.`,
    );
    return;
  }
  if (limit !== undefined || !telling.includes(preset.name)) return;
  const saved = await models.saved(url);
  if (saved !== null && Date.now() - Date.parse(saved.at) < dayMs) return;
  const endpoint = parseEndpoint({ preset: preset.name, baseUrl: url, apiKey: key?.value });
  // If a server cannot list its models now, teddy still sends it the request, and reports its error then.
  const served = await listModels(endpoint, listTimeoutMs).catch(() => null);
  if (served !== null) await models.keepServed(url, new Map(served.map(({ id, ...facts }) => [id, facts])));
}

/** Fetches the list of windows and prices; nothing else fetches it. Throws PAGE_FAILED. */
export async function updateModels({ models }: Pick<Project, 'models'>): Promise<{ url: string; count: number }> {
  try {
    const providers = await fetchList();
    const count = [...providers.values()].reduce((sum, { size }) => sum + size, 0);
    if (count === 0) throw new TeddyError('PAGE_FAILED', `${listUrl} lists no models.`, 'The previous list is kept.');
    await models.keepList(providers);
    return { url: listUrl, count };
  } catch (error) {
    const failure = toFailure(error, false);
    if (failure === null) throw error;
    throw new TeddyError(
      'PAGE_FAILED',
      `${listUrl} could not be fetched: ${failure.message}`,
      'Try again later. Until then, teddy uses the previous list; `git config teddy.model.<name>.price <in>/<out>` sets a price.',
    );
  }
}

/** Offers a server on this machine when no model is configured and teddy can ask somebody. Saves nothing. */
async function offerLocal(
  { settings, notices }: Project,
  wanted: string | undefined,
): Promise<{ preset: (typeof presets)[number]; model: string } | null> {
  const { confirm } = notices;
  if (confirm === undefined || (await settings.find('provider')).value !== null) return null;
  for (const { name, url, models } of await findLocalServers()) {
    const preset = presets.find((one) => one.name === name);
    const model = wanted !== undefined && models.includes(wanted) ? wanted : models[0];
    if (preset === undefined || model === undefined) continue;
    const count = models.length === 1 ? 'one model' : `${models.length} models`;
    if (!(await confirm(`No model is configured, but ${name} answers at ${url} with ${count}. Ask ${model} there?`)))
      continue;
    notices.info(`To keep it: git config teddy.provider ${name} && git config teddy.model ${toShellWord(model)}`);
    return { preset, model };
  }
  return null;
}

async function readParameters({ settings }: Project): Promise<ChosenModel['parameters']> {
  const [temperature, reasoning, maxAnswerTokens] = await Promise.all([
    settings.get('temperature'),
    settings.get('reasoning'),
    settings.get('maxAnswerTokens'),
  ]);
  return {
    ...(temperature === undefined ? {} : { temperature: Number(temperature) }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(maxAnswerTokens === undefined ? {} : { maxAnswerTokens: Number(maxAnswerTokens) }),
  };
}

/**
 * Returns the preset's own variable, otherwise `teddy.baseUrl`. The latter belongs to the provider that git config
 * names, otherwise to the one that is set; any other provider, chosen for one command, would send its key to a foreign
 * server. Throws BAD_SETTING.
 */
async function findBaseUrl(
  project: Pick<Project, 'settings' | 'repository'>,
  preset: Preset,
  env: Environment,
): Promise<string | undefined> {
  const { store } = project.repository;
  const { urlVariable } = preset;
  const [beside, key, origin] = await Promise.all([
    store.setting('teddy.provider'),
    store.setting('teddy.baseUrl'),
    store.settingOrigin('teddy.baseUrl'),
  ]);
  const owner = beside?.trim() || (await project.settings.find('provider')).value || presets[0].name;
  return requireUsable(
    decideSetting('baseUrl', [
      ...(urlVariable === null ? [] : [{ origin: `environment ${urlVariable}`, text: env[urlVariable] }]),
      { origin: `git config (${origin ?? ''})`, text: owner === preset.name ? key : undefined },
    ]),
  );
}

/**
 * Returns the current endpoint's key: from the environment, otherwise from git's credential helpers for its host. Never
 * prompts.
 */
export async function findKey(project: Project, env: Environment): Promise<ApiKey | null> {
  const { value } = await project.settings.find('provider');
  return findKeyOf(project, findPreset(value ?? '') ?? presets[0], env);
}

async function findKeyOf(project: Project, preset: Preset, env: Environment): Promise<ApiKey | null> {
  const known = keyFromEnvironment(preset, env);
  if (known !== null) return known;
  const baseUrl = (await findBaseUrl(project, preset, env)) ?? preset.url;
  const value = await project.repository.credential(parseEndpoint({ baseUrl }).url);
  return value === null ? null : { value, origin: 'git credential' };
}

/** Returns the current endpoint, and its report about its models. Throws USAGE when there is none, and the MODEL_ codes. */
export async function listServedModels(
  project: Project,
  { provider: wanted, env }: { provider?: string | undefined; env: Environment },
): Promise<{ provider: PresetName; url: string; models: ServedModel[] }> {
  if (wanted !== undefined) refuseUnknownProvider(wanted);
  const provider = wanted ?? (await project.settings.get('provider')) ?? presets[0].name;
  const preset = presets.find(({ name }) => name === provider);
  if (preset === undefined)
    throw new TeddyError(
      'USAGE',
      `The provider ${provider} has no models to list.`,
      'Name another one with --provider <name>.',
    );
  const baseUrl = await findBaseUrl(project, preset, env);
  const key = await findKeyOf(project, preset, env);
  if (key === null && baseUrl === undefined && preset.keyVariable !== null) throw toNoModel(preset, false, env);
  const endpoint = parseEndpoint({ preset: preset.name, baseUrl, apiKey: key?.value, keyOrigin: key?.origin });
  try {
    const models = await listModels(endpoint);
    await project.models.keepServed(endpoint.url, new Map(models.map(({ id, ...facts }) => [id, facts])));
    return { provider: preset.name, url: endpoint.url, models };
  } catch (error) {
    const failure = toFailure(error, false);
    throw failure === null ? error : toTeddyError(failure, endpoint, 'its list', { messages: [], again: 'try again.' });
  }
}

/** Opens the user's editor, following git's rules to choose it. */
export async function composeText(
  project: Project,
  {
    cwd,
    env,
    stdin,
  }: { cwd: string; env: Record<string, string | undefined>; stdin: Readable & { isTTY?: boolean | undefined } },
  initial: string,
  fileName: string,
): Promise<string> {
  const configured = env['GIT_EDITOR'] || (await project.repository.store.setting('core.editor'));
  const chosen = configured || env['VISUAL'] || env['EDITOR'];
  if (!chosen && stdin.isTTY !== true)
    throw new TeddyError(
      'USAGE',
      'There is no terminal for an editor, and no editor that works without one is configured.',
      'Run the command in a terminal, or set an editor that needs none: `GIT_EDITOR="cp <file>"` takes the text from a file.',
    );
  const editor = chosen || 'vi';
  return editText(initial, { editor, fileName, cwd, env });
}
