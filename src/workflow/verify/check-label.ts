/** Compares an entry's label, which `git log` shows, with the entry's files. */
import { operations } from '../../session/settings/write-limits.ts';
import type { KnownRecord, TranscriptRecord } from '../../conversation/records/record.ts';
import { parsePlan } from '../../plan/parse/parse.ts';
import { findPlanTitle } from '../../plan/plan-comments.ts';
import { encodeEntry, labelLimits, toLabel, type Entry } from '../../session/entries/entry.ts';
import { revertsTurn } from '../../session/lines/line-paths.ts';
import { grammars } from '../../session/text/grammar.ts';
import { isSessionPath, memosPath } from '../../session/global/global-files.ts';
import { parseMemos } from '../../session/global/memos.ts';
import { turnNumber } from '../../names.ts';
import { describeRecords } from '../line/describe-records.ts';
import {
  labelBranch,
  labelEdits,
  labelHandedIn,
  labelMemos,
  labelPlan,
  labelUndo,
  labelVerdict,
  type Label,
} from '../line/entry-labels.ts';
import { toText } from '../../view/view.ts';
import type { Step, WalkedLine } from './walked-line.ts';

/** Checks an entry's label; `added` are the records that the entry adds. Reports have a separate check. */
export async function checkLabel(walk: WalkedLine, step: Step, added: readonly TranscriptRecord[]): Promise<void> {
  const { entry, commit } = step;
  // A text masked in the label or the file may be masked differently in the other.
  if (entry.kind === 'report' || commit.commit.message.includes('[masked')) return;
  const possible = await listLabels(walk, step, added);
  if (possible === null || possible.some((label) => isLabelOf(label, commit.commit.message, entry))) return;
  if (possible.some(({ title, details }) => [title, ...details].some((text) => text.includes('[masked')))) return;
  step.blame('trailers', null, "The entry's message does not match its files.");
}

function isLabelOf(label: Label, message: string, entry: Entry): boolean {
  const read = (text: string) => text.trimEnd().split('\n\n').slice(0, -1).join('\n\n');
  return read(encodeEntry({ ...entry, ...label })) === read(message);
}

/** Returns null when nothing in the commits determines the label. */
async function listLabels(walk: WalkedLine, step: Step, added: readonly TranscriptRecord[]): Promise<Label[] | null> {
  const { entry, commit } = step;
  const code = commit.changes.map(({ path }) => path).filter((path) => !isSessionPath(path));
  switch (entry.kind) {
    case 'start':
      return [{ title: walk.session, details: [] }];
    case 'message':
    case 'exchange':
    case 'reply':
      return listRecordLabels(added);
    case 'plan':
      return listPlanLabels(walk, entry);
    case 'approval':
      return listVerdictLabels(walk, entry, added);
    case 'branch':
      return listBranchLabels(entry);
    case 'undo':
      return entry.turn === null
        ? []
        : listPathLabels(entry, labelUndo.bind(null, entry.turn, !revertsTurn(entry)), [code]);
    case 'snapshot':
      return listPathLabels(entry, (paths) => labelEdits(paths), [code, commit.changes.map(({ path }) => path)]);
    case 'memo':
      return listMemoLabels(step);
    case 'write':
      return operations.flatMap((operation) =>
        code.map((path) => ({ title: `${operation} ${path}`, details: entry.details })),
      );
    default:
      return null;
  }
}

/** Describes an answer by its words, and other records by the first one's words, or by their calls. */
function listRecordLabels(added: readonly TranscriptRecord[]): Label[] | null {
  // Describes a record of an unknown kind by its type.
  const records = added as readonly KnownRecord[];
  if (records.length === 0) return null;
  return [describeRecords(records), ...records.map((record) => describeRecords([record]))];
}

function listPlanLabels({ current }: WalkedLine, { turn }: Entry): Label[] | null {
  if (current?.turn !== turn || current.plan === null) return null;
  const text = toText(current.plan);
  const read = grammars.map((grammar) => parsePlan(text, { grammar }).plan);
  return [...read.map(labelPlan), labelHandedIn(text)];
}

function listVerdictLabels({ current }: WalkedLine, entry: Entry, added: readonly TranscriptRecord[]): Label[] | null {
  const record = added.find((one) => one.type === 'approval' && one.id === entry.id);
  if (record?.type !== 'approval' || current?.turn !== entry.turn || current.plan === null) return null;
  const { title } = parsePlan(toText(current.plan)).plan;
  return [title, findPlanTitle(toText(current.plan)).title].map((one) => labelVerdict(record, one));
}

function listBranchLabels({ title, turn }: Entry): Label[] | null {
  const [, original = ''] = /^from turn (\S+)$/.exec(title) ?? [];
  const isOfTurn = turn !== null && Number.parseInt(original, 10) === turnNumber(turn);
  return isOfTurn || turn === null ? null : [labelBranch(turn)];
}

/** The details name the files in any order; if there are many, only some of them. */
function listPathLabels(
  { details }: Entry,
  toLabelOf: (paths: readonly string[]) => Label,
  possible: readonly (readonly string[])[],
): Label[] {
  return possible.flatMap((paths) => {
    const known = new Set(paths.map((path) => toLabel(path, labelLimits.detail)));
    const named = details.filter((line) => !/^and \d+ more$/.test(line));
    const isSome = named.length > 0 && named.every((line) => known.has(line));
    return isSome ? [{ title: toLabelOf(paths).title, details }] : [];
  });
}

/** The label lists the decided changes, some of which may have been made earlier. */
async function listMemoLabels({ entry, commit }: Step): Promise<Label[] | null> {
  const content = await commit.contents.get(memosPath)?.read();
  if (content?.kind !== 'bytes') return null;
  const facts = parseMemos(toText(content.bytes));
  const changes = entry.details.map((line) => ({
    kind: line.startsWith('[+] ') ? ('add' as const) : ('remove' as const),
    fact: line.slice('[+] '.length),
  }));
  const isCut = entry.details.length >= 10 || changes.some(({ fact }) => fact.endsWith('…'));
  if (isCut || changes.every(({ fact, kind }) => facts.includes(fact) === (kind === 'add'))) {
    return isCut ? null : [{ ...labelMemos(changes), details: entry.details }];
  }
  return [];
}
