/** Compares the words of an entry's label, which `git log` shows, with the files that the entry brings. */
import type { KnownRecord, TranscriptRecord } from '../../conversation/record.ts';
import { describeAction } from '../../plan/describe-action.ts';
import { parsePlan } from '../../plan/parse.ts';
import { findPlanTitle } from '../../plan/plan-comments.ts';
import { encodeEntry, labelLimits, toLabel, type Entry } from '../../session/entry.ts';
import { newestGrammar } from '../../session/grammar.ts';
import { isSessionPath, memosPath } from '../../session/global-files.ts';
import { parseMemos } from '../../session/memos.ts';
import { turnNumber } from '../../names.ts';
import { describeRecords } from '../line/describe-records.ts';
import { toText } from '../line/read.ts';
import type { Step, WalkedLine } from './walked-line.ts';

type Label = Pick<Entry, 'title' | 'details'>;

/** `added`: the records that the entry adds. Reports have a check of their own. */
export async function checkLabel(walk: WalkedLine, step: Step, added: readonly TranscriptRecord[]): Promise<void> {
  const { entry, commit } = step;
  // A text that is masked in one of them may be masked in another way in the other.
  if (entry.kind === 'report' || commit.commit.message.includes('[masked')) return;
  const possible = await listLabels(walk, step, added);
  if (possible === null || possible.some((label) => isLabelOf(label, commit.commit.message, entry))) return;
  if (possible.some(({ title, details }) => [title, ...details].some((text) => text.includes('[masked')))) return;
  step.blame('trailers', null, 'The message of the entry does not say what its files say.');
}

function isLabelOf(label: Label, message: string, entry: Entry): boolean {
  const read = (text: string) => text.trimEnd().split('\n\n').slice(0, -1).join('\n\n');
  return read(encodeEntry({ ...entry, ...label })) === read(message);
}

/** Null: nothing in the commits tells. */
async function listLabels(walk: WalkedLine, step: Step, added: readonly TranscriptRecord[]): Promise<Label[] | null> {
  const { entry, commit } = step;
  const code = commit.changes.map(({ path }) => path).filter((path) => !isSessionPath(path));
  switch (entry.kind) {
    case 'start':
      return [{ title: walk.session, details: [] }];
    case 'message':
    case 'exchange':
    case 'reply':
      return labelRecords(added);
    case 'plan':
      return labelPlan(walk, entry);
    case 'approval':
      return labelVerdict(walk, entry, added);
    case 'branch':
      return labelBranch(entry);
    case 'undo':
      return labelPaths(entry, (count) => `${count} of turn ${entry.turn} taken back`, [code]);
    case 'snapshot':
      return labelPaths(entry, (count) => `${count} of the user's own edits`, [
        code,
        commit.changes.map(({ path }) => path),
      ]);
    case 'memo':
      return labelMemos(step);
    case 'write':
      return ['create', 'overwrite', 'append'].flatMap((operation) =>
        code.map((path) => ({ title: `${operation} ${path}`, details: entry.details })),
      );
    default:
      return null;
  }
}

function countFiles(paths: readonly string[]): string {
  return `${paths.length} ${paths.length === 1 ? 'file' : 'files'}`;
}

/** An answer is described by its words, other records by the first of them, or by their calls. */
function labelRecords(added: readonly TranscriptRecord[]): Label[] | null {
  // A record of a kind that is not known is described by its type.
  const records = added as readonly KnownRecord[];
  if (records.length === 0) return null;
  return [describeRecords(records), ...records.map((record) => describeRecords([record]))];
}

function labelPlan({ current }: WalkedLine, { turn }: Entry): Label[] | null {
  if (current?.turn !== turn || current.plan === null) return null;
  const text = toText(current.plan);
  const read = ([1, newestGrammar] as const).map((grammar) => parsePlan(text, { grammar }).plan);
  const handedIn = findPlanTitle(text).title.slice(0, 200);
  return [
    ...read.map(({ title, actions }) => ({
      title,
      details: actions.map((action) => `${action.index}. ${describeAction(action)}`),
    })),
    { title: handedIn, details: [] },
  ];
}

function labelVerdict({ current }: WalkedLine, entry: Entry, added: readonly TranscriptRecord[]): Label[] | null {
  const record = added.find((one) => one.type === 'approval' && one.id === entry.id);
  if (record?.type !== 'approval' || current?.turn !== entry.turn || current.plan === null) return null;
  const word = record.verdict === 'none' ? 'no verdict on' : record.verdict;
  const text = toText(current.plan);
  const details = [
    ...(record.text === undefined ? [] : record.text.split('\n')),
    ...record.comments.map((comment) => `line ${comment.line}: ${comment.text}`),
  ];
  return [parsePlan(text).plan.title, findPlanTitle(text).title].map((title) => ({
    title: `${word} ${title}`,
    details,
  }));
}

function labelBranch({ title, turn }: Entry): Label[] | null {
  const [, original = ''] = /^from turn (\S+)$/.exec(title) ?? [];
  const isOfTurn = turn !== null && Number.parseInt(original, 10) === turnNumber(turn);
  return isOfTurn ? null : [{ title: `from turn ${turn}`, details: [] }];
}

/** The details name the files, in any order; of many, some. */
function labelPaths(
  { details }: Entry,
  toTitle: (count: string) => string,
  possible: readonly (readonly string[])[],
): Label[] {
  return possible.flatMap((paths) => {
    const known = new Set(paths.map((path) => toLabel(path, labelLimits.detail)));
    const named = details.filter((line) => !/^and \d+ more$/.test(line));
    const isSome = named.length > 0 && named.every((line) => known.has(line));
    return isSome ? [{ title: toTitle(countFiles(paths)), details }] : [];
  });
}

/** The label lists the changes that were decided, of which some may have been done before. */
async function labelMemos({ entry, commit }: Step): Promise<Label[] | null> {
  const content = await commit.contents.get(memosPath)?.read();
  if (content?.kind !== 'bytes') return null;
  const facts = parseMemos(toText(content.bytes));
  const changes = entry.details.map((line) => ({ isAdded: line.startsWith('[+] '), fact: line.slice('[+] '.length) }));
  const isCut = entry.details.length >= 10 || changes.some(({ fact }) => fact.endsWith('…'));
  if (isCut || changes.every(({ fact, isAdded }) => facts.includes(fact) === isAdded)) {
    const title = changes.length === 1 ? (changes[0]?.fact ?? '') : `${changes.length} memos`;
    return isCut ? null : [{ title, details: entry.details }];
  }
  return [];
}
