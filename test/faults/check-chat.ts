/** Checks a conversation that was killed: every message exists, once, and the next command ends it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openProject } from '../../src/app.ts';
import { decodeTranscript } from '../../src/conversation/history/decode-transcript.ts';
import type { KnownRecord, ToolResultRecord } from '../../src/conversation/records/record.ts';
import type { Project } from '../../src/ports/project.ts';
import { appendRecords } from '../../src/workflow/line/append-records.ts';
import { readConversation } from '../../src/workflow/line/read-conversation.ts';
import { commandKind } from '../../src/workflow/line/settle-commands.ts';
import { beginWrite } from '../../src/workflow/writes/begin.ts';
import { cancelWrite, cleanWrites } from '../../src/workflow/writes/clean.ts';
import { listWrites, type WriteView } from '../../src/workflow/writes/list.ts';
import { discardWrite, finalizeLeft } from '../../src/workflow/writes/recover.ts';
import { listAnswerFiles, readSavedAnswers } from '../support/saved-answer.ts';
import { openScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { checkHistories } from './check-histories.ts';
import { findLeftovers, repair } from './check-run.ts';
import {
  commandIdOf,
  converse,
  logPath,
  message,
  textsOf,
  writtenPath,
  writtenTextOf,
  type ChatSceneName,
} from './chat-script.ts';
import type { ChildRun } from './run-child.ts';
import { readStatus, type Scene } from './scenes.ts';

/** A run's own output; that of several is joined. */
export type Heard = Pick<ChildRun, 'acknowledged' | 'asked' | 'results'>;

/** Joins the output of a killed process and of the one that continued. */
export function joinHeard(one: Heard, other: Heard): Heard {
  return {
    acknowledged: [...one.acknowledged, ...other.acknowledged],
    asked: [...one.asked, ...other.asked],
    results: [...one.results, ...other.results],
  };
}

interface Known {
  scene: Scene;
  repository: ScratchRepository;
  heard: Heard;
  /** The names of the processes that have sent messages, including the next one. */
  names: string[];
  problems: string[];
}

interface Entry {
  commit: string;
  kind: string;
  turn: string;
  id: string;
  status: string;
  /** The write session that it belongs to. */
  write: string;
}

/** The line as found, read once. */
interface Line {
  entries: Entry[];
  /** The records in the turns that came since. */
  records: KnownRecord[];
}

const ways = ['without a message', 'with the same message', 'after somebody else spoke'] as const;
type Way = (typeof ways)[number] | 'another message' | 'the first message';

/** How often each way to continue was taken. */
export const wentOn = new Map<Way, number>();
let choices = 0;

/** Returns the faults, one sentence each; empty if all is right. */
export async function checkChat(
  scene: Scene,
  repository: ScratchRepository,
  heard: Heard,
  earlier: string[] = ['one'],
): Promise<string[]> {
  const known: Known = { scene, repository, heard, names: [...earlier, 'next'], problems: [] };
  const staged = await readStaged(repository);
  await repair(repository);
  await withProject(repository, async (project) => {
    const before = await readSince(known, project);
    await checkReached(known, before);
    await awaitCommands(project);
    const way = chooseWay(before);
    wentOn.set(way, (wentOn.get(way) ?? 0) + 1);
    await goOn(known, project, way);
    if (scene.name === 'chat-write') await settleWrite(known, project);
    const after = await readSince(known, project);
    checkOnce(known, after);
    checkKept(known, after, staged);
    await checkEnd(known, before, after, way);
    known.problems.push(...(await checkHistories(project, repository, scene)));
  }).catch((error: unknown) => known.problems.push(toText(error)));
  known.problems.push(...(await findLeft(repository)));
  await repository.fsck().catch((error: Error) => known.problems.push(error.message));
  return known.problems;
}

/** If only teddy was killed, its command runs on for a moment, and nothing continues the line before it has ended. */
async function awaitCommands({ journal, shellOf }: Project): Promise<void> {
  for (const { facts } of await journal.left(commandKind))
    while (facts?.group && (await shellOf(facts.root).findRunning(facts.group)).length > 0) await sleep(10);
}

async function withProject(repository: ScratchRepository, use: (project: Project) => Promise<void>): Promise<void> {
  const notices = { info: () => undefined, warn: () => undefined };
  const project = await openProject({ cwd: repository.root, env: process.env, notices });
  try {
    await use(project);
  } finally {
    await project.repository.close();
  }
}

function toText(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function expectThat({ problems }: Pick<Known, 'problems'>, isTrue: boolean, what: string): void {
  if (!isTrue) problems.push(what);
}

// --- contents ---------------------------------------------------------------------------------------------------

async function readSince({ repository, scene }: Known, project: Project): Promise<Line> {
  const field = (name: string) => `%(trailers:key=Teddy-${name},valueonly,separator=)`;
  const format = `--format=%H|${['Entry', 'Turn', 'Entry-Id', 'Status', 'Write-Session'].map(field).join('|')}`;
  const rows = await repository.git('log', '--first-parent', '--reverse', format, scene.ref ?? '', `^${scene.oldTip}`);
  const entries = (rows === '' ? [] : rows.split('\n')).map((row): Entry => {
    const [commit = '', kind = '', turn = '', id = '', status = '', write = ''] = row.split('|');
    return { commit, kind, turn, id, status, write };
  });
  const { turns } = await readConversation(project, {});
  const records = turns.slice(1).flatMap(({ transcript }) => transcript.records);
  return { entries, records: records.filter((record) => record.type !== 'other') };
}

interface Staged {
  isExchange: boolean;
  /** The text that a save had confirmed. */
  text: string;
}

async function readStaged({ root }: ScratchRepository): Promise<Staged[]> {
  return (await readSavedAnswers(root)).map(({ place, confirmed }) => ({
    isExchange: place.unit === 'exchange',
    text: confirmed.toString(),
  }));
}

const saidOf = (records: KnownRecord[]): string[] =>
  records.flatMap((record) => (record.type === 'user' && 'content' in record.message ? [record.message.content] : []));

const resultsOf = (records: KnownRecord[]): ToolResultRecord[] =>
  records.filter((record) => record.type === 'tool_result');

const answersOf = (records: KnownRecord[]): { id: string; text: string; isPartial: boolean }[] =>
  records.flatMap((record) => {
    if (record.type !== 'assistant' && record.type !== 'assistant_partial') return [];
    const text = 'content' in record.message ? record.message.content : '';
    return [{ id: record.id, text, isPartial: record.type === 'assistant_partial' }];
  });

async function readLog({ repository }: Known): Promise<string[]> {
  return (await repository.read(logPath)).split('\n').filter((line) => line !== '' && line !== 'log');
}

// --- before the next command -----------------------------------------------------------------------------------------

/** The line has everything that a model was asked with, and the user's files are unchanged. */
async function checkReached(known: Known, { entries, records }: Line): Promise<void> {
  const { heard, scene, repository } = known;
  const isSaid = saidOf(records).filter((text) => text === message).length === 1;
  expectThat(known, isSaid || heard.asked.length === 0, 'the model was asked, and the message is not on the line');
  const answered = resultsOf(records).map((result) => result.tool_call_id);
  for (const id of heard.asked.flat())
    expectThat(known, answered.includes(id), `the model was told the result of ${id}, which is not on the line`);
  const commits = entries.map(({ commit }) => commit);
  for (const commit of heard.acknowledged)
    expectThat(known, commits.includes(commit), `acknowledged ${commit} is not on the line`);
  const status = await readStatus(repository);
  const strange = status.filter((row) => !scene.status.includes(row) && !isOwnRow(row));
  expectThat(known, strange.length === 0, `git status shows ${strange.join(' | ')}`);
  const isSnapshot = entries.some(({ kind }) => kind === 'snapshot');
  const lost = scene.status.filter((row) => !(isSnapshot && !row.startsWith('??')) && !status.includes(row));
  expectThat(known, lost.length === 0, `the user's ${lost.join(' | ')} is no more`);
  for (const path of ['src/edited.txt', 'src/staged.txt', 'src/untracked.txt', 'src/kept.txt', 'README.md']) {
    const text = await openScratchRepository(scene.template).read(path);
    expectThat(known, (await repository.read(path).catch(() => '')) === text, `${path} is another one`);
  }
  const head = await repository.git('symbolic-ref', 'HEAD');
  expectThat(known, head === scene.ref, `HEAD is on ${head}`);
}

/** A tool may have made it; a file that is being written when its process is killed stays until a continuation. */
function isOwnRow(row: string): boolean {
  return row === ` M ${logPath}` || row === `?? ${writtenPath}` || /^\?\? (?:.*\/)?\.teddy-tmp-[0-9a-f]{16}$/.test(row);
}

// --- the next command ------------------------------------------------------------------------------------------------

function chooseWay({ entries }: Line): Way {
  if (!entries.some(({ kind }) => kind === 'message')) return 'the first message';
  if (hasEnded(entries)) return 'another message';
  choices += 1;
  return ways[choices % ways.length] ?? 'without a message';
}

function hasEnded(entries: Entry[]): boolean {
  return entries.some(({ kind, status }) => kind === 'reply' && status !== 'PARTIAL');
}

const spoken = 'Wait for me.';
const another = 'And what else?';

async function goOn({ scene }: Known, project: Project, way: Way): Promise<void> {
  const script = { scene: scene.name as ChatSceneName, name: 'next', pieceMs: 0 };
  const said: Partial<Record<Way, string>> = {
    'the first message': message,
    'with the same message': message,
    'another message': another,
  };
  if (way === 'after somebody else spoke') {
    const content = spoken;
    const record = { type: 'user' as const, id: 'spoken', timestamp: '2026-01-24T10:00:00.000Z', source: 'text' };
    await appendRecords(project, { records: [{ ...record, message: { role: 'user', content } }] });
  }
  const outcome = await converse(project, script, said[way], () => undefined);
  if (outcome.kind !== 'answered') throw new Error(`The next command has ended ${outcome.kind}.`);
}

/** A file whose content was cut is resumed with its own command. */
async function settleWrite(known: Known, project: Project): Promise<void> {
  for (const view of await listWrites(project)) {
    const { entries } = await readSince(known, project);
    const isWritten = entries.some(({ write }) => write !== '' && write !== view.id);
    if (view.stage !== 'committed') await settleOne(known, project, view, isWritten);
  }
  // The slot is free for another one, even if its holder has died.
  const wish = { intent: 'next', target: 'next.txt', operation: 'create', hasController: false };
  const { record } = await beginWrite(project, wish);
  await cancelWrite(project, record.id);
  await cleanWrites(project);
}

/** With `isWritten` the model has rewritten the file meanwhile, in another session. */
async function settleOne(
  { problems, names }: Known,
  project: Project,
  { id, stage }: WriteView,
  isWritten: boolean,
): Promise<void> {
  const content = Buffer.from((await project.writes.readContent(id))?.verified ?? []).toString();
  const whole = names.map(writtenTextOf).find((text) => text.startsWith(content));
  if (stage === 'damaged' || whole === undefined) problems.push(`write session ${id} is ${stage}`);
  if (content !== whole || isWritten) return discardWrite(project, id);
  const finalized = await finalizeLeft(project, id, false);
  if (!finalized.isWritten) problems.push(`the content is refused: ${finalized.message}`);
}

// --- afterwards ------------------------------------------------------------------------------------------------------

function checkOnce(known: Known, { entries, records }: Line): void {
  const expectOnce = (what: string, values: string[]) => {
    const twice = values.filter((value, at) => values.indexOf(value) !== at);
    expectThat(known, twice.length === 0, `${what} ${twice.map((one) => one.slice(0, 60)).join()} is there twice`);
  };
  expectOnce(
    'the entry',
    entries.map(({ id }) => id),
  );
  expectOnce(
    'the record',
    records.map(({ id }) => id),
  );
  expectOnce('the message', saidOf(records));
  expectOnce(
    'the text',
    answersOf(records).map(({ text }) => toAnswerName(known, text)),
  );
  const calls = records.flatMap((record) => (record.type === 'tool_use' ? [record.tool_call_id] : []));
  expectOnce('the call', calls);
  const results = resultsOf(records).map((result) => result.tool_call_id);
  expectOnce('the result', results);
  expectThat(
    known,
    calls.toSorted().join() === results.toSorted().join(),
    `calls ${calls.join()}, results ${results.join()}`,
  );
}

/** The author and the text; an interrupted answer is the beginning of it. */
function toAnswerName({ names, problems }: Known, text: string): string {
  for (const name of names) {
    const { first, last } = textsOf(name);
    if (first.startsWith(text)) return `${name}, the first`;
    if (last.startsWith(text)) return `${name}, the last`;
  }
  problems.push(`nobody has said ${JSON.stringify(text.slice(0, 60))}`);
  return text;
}

/** The line has everything that was reported, and everything that a save had confirmed. */
function checkKept(known: Known, { records }: Line, staged: Staged[]): void {
  const results = resultsOf(records);
  for (const { callId, output } of known.heard.results) {
    const kept = results.find((result) => result.tool_call_id === callId);
    expectThat(known, kept?.output === output, `the result of ${callId} was heard, and is ${JSON.stringify(kept)}`);
  }
  for (const { isExchange, text } of staged) {
    if (isExchange) {
      const ids = decodeTranscript(text).records.flatMap((record) => (record.type === 'other' ? [] : [record.id]));
      const missing = ids.filter((id) => !records.some((record) => record.id === id));
      expectThat(known, missing.length === 0, `${missing.length} of ${ids.length} records in staging are lost`);
    } else {
      const isThere = answersOf(records).some((one) => one.text.startsWith(text));
      expectThat(known, isThere, `${text.length} characters of an answer in staging are lost`);
    }
  }
}

async function checkEnd(known: Known, before: Line, { entries, records }: Line, way: Way): Promise<void> {
  const { repository, scene } = known;
  const kinds = entries.map(({ kind, status }) => (status === '' ? kind : `${kind} ${status}`));
  const isPrefix = before.entries.every(({ commit }, at) => entries[at]?.commit === commit);
  expectThat(known, isPrefix, 'an entry that was there is not there any more');
  const turns = new Set(entries.flatMap(({ turn, kind }) => (kind === 'snapshot' || kind === 'write' ? [] : [turn])));
  const isMore = way === 'another message';
  expectThat(known, turns.size === (isMore ? 2 : 1), `${kinds.join()} are of turns ${[...turns].join()}`);
  const count = (kind: string) => kinds.filter((one) => one === kind).length;
  const messages = way === 'after somebody else spoke' || isMore ? 2 : 1;
  expectThat(known, saidOf(records).length === messages, `${saidOf(records).length} messages: ${kinds.join()}`);
  expectThat(known, count('reply') === (isMore ? 2 : 1), `it has ended ${count('reply')} times: ${kinds.join()}`);
  const asked = entries.filter(({ kind }) => kind === 'exchange').length;
  expectThat(known, scene.name !== 'chat' || asked > 0, `no exchange: ${kinds.join()}`);
  if (scene.name === 'chat') await checkLog(known, records);
  else await checkWritten(known, entries, records, isMore);
  const rows = await readStatus(repository);
  const strange = rows.filter((row) => row !== '?? src/untracked.txt' && row !== ` M ${logPath}`);
  expectThat(known, strange.length === 0 && rows.includes('?? src/untracked.txt'), `at the end ${rows.join(' | ')}`);
}

/** No command was rerun without being asked, and the line's record of each is true. */
async function checkLog(known: Known, records: KnownRecord[]): Promise<void> {
  const log = await readLog(known);
  for (const name of known.names) {
    const times = log.filter((line) => line === name).length;
    const result = resultsOf(records).find((one) => one.tool_call_id === commandIdOf(name));
    expectThat(known, times <= 1, `the command of ${name} was run ${times} times`);
    const isDone = result !== undefined && result.reason === undefined;
    // The result of a command that could not be started gives the reason.
    const isRun = times === 1 || (result?.is_error === true && !String(result.output).startsWith('Exit code'));
    expectThat(known, !isDone || isRun, `the command of ${name} has a result, and was run ${times} times`);
    expectThat(known, times === 0 || result !== undefined, `the command of ${name} was run, and nothing says so`);
  }
}

async function checkWritten(known: Known, entries: Entry[], records: KnownRecord[], isMore: boolean): Promise<void> {
  const { repository, names } = known;
  const writes = entries.filter(({ kind }) => kind === 'write').length;
  const done = resultsOf(records).filter(({ output }) => String(output).includes('"status":"completed"')).length;
  const text = await repository.read(writtenPath).catch(() => null);
  const isWritten = names.some((name) => writtenTextOf(name) === text);
  expectThat(known, writes <= 1 && done <= writes, `${done} files are told of, and ${writes} committed`);
  expectThat(
    known,
    isWritten === (writes === 1),
    `${writes} entries, and the file is ${JSON.stringify(text?.slice(0, 60))}`,
  );
  expectThat(known, !isMore || writes === 1, 'the turn had ended, and there is no file');
}

/** Finds leftovers of answers, of write sessions, and of appends. */
async function findLeft(repository: ScratchRepository): Promise<string[]> {
  const answers = await listAnswerFiles(repository.root);
  const writes = await repository.list('.git/teddy/write_sessions');
  const anchors = await repository.git('for-each-ref', '--format=%(refname)', 'refs/teddy/keep/answers/');
  return [
    ...(await findLeftovers(repository)),
    ...[...answers, ...writes].map((name) => `${name} is left in staging`),
    ...(anchors === '' ? [] : [`${anchors} is kept beside the line`]),
  ];
}
