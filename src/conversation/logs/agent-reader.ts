/** The reader of every agent's log: lines, checkpoints and what is known of the log; what a line means is its agent's. */
import { openBranches, type AgentBranches } from './agent-branches.ts';
import type { AgentLine, AgentLogHead, AgentLogOptions, AgentLogReader } from './agent-log.ts';
import { openTree, saveTree } from './branch-tree.ts';
import { toBase, type LineContext } from './import-context.ts';
import { openImportIds, toPlace, type IdMemory, type SourcePosition } from '../records/import-ids.ts';
import { readObjects } from './import-lines.ts';
import { openImportLog } from './import-report.ts';
import type { RecordForm } from '../records/mend-line.ts';
import { captureSource } from '../records/record.ts';
import { fieldsOf, hasText, toTimestamp } from '../records/import-values.ts';

type Fields = Record<string, unknown>;

/** The state that the reader of an agent's lines works with. */
export interface AgentContext extends LineContext {
  branches: AgentBranches;
  head: AgentLogHead;
}

/** The meaning of one agent's lines. */
interface AgentLines {
  /** False: it is of a type that nobody knows. */
  read(object: Fields, place: SourcePosition): boolean;
  /** Whatever it holds back is whole now. */
  settle?(): void;
  /** There is no more; `settle` if it is missing. */
  end?(): void;
  /** Counts the lines that it holds back. */
  heldLines?(): number;
  /** Plain JSON, to go on with after a checkpoint. */
  state?(): Fields;
}

/** `state` is what an earlier reader has left, or empty. */
export type OpenAgentLines = (context: AgentContext, state: Fields) => AgentLines;

/** It changes with what a checkpoint holds. */
const checkpointVersion = 1;

/** So many ids of records and calls are known, twice as many at most: a checkpoint has them all. */
const knownIds = 64;

/** `agent`: the name under which ids are made and checkpoints are known. */
export function openAgentReader(
  agent: string,
  options: AgentLogOptions,
  { isRecord, open }: { isRecord: RecordForm; open: OpenAgentLines },
): AgentLogReader {
  const { checkpoint, hash, importedAt, closed } = options;
  const isReadable =
    checkpoint === undefined || (checkpoint['v'] === checkpointVersion && checkpoint['agent'] === agent);
  const saved = checkpoint !== undefined && isReadable ? checkpoint : null;
  const log = openImportLog();
  const known = saved === null ? undefined : (saved['ids'] as IdMemory);
  const ids = openImportIds(agent, hash, closed === undefined ? knownIds : undefined, known);
  const tree = openTree(log, ids, {
    saved: saved === null ? null : fieldsOf(saved['branches']),
    follows: closed === undefined,
  });
  const branches = openBranches(tree);
  const head = { ...emptyHead, ...(saved === null ? {} : fieldsOf(saved['head'])) } as AgentLogHead;
  const context: AgentContext = {
    ids,
    log,
    units: branches.units,
    source: closed === undefined ? captureSource : 'import',
    base: toBase(ids, importedAt, closed?.lines),
    branches,
    head,
  };
  const lines = open(context, fieldsOf(saved?.['lines']));
  const unknown: AgentLine[] = [];

  const readText = (number: number, text: string): boolean => {
    const { objects, mended, isTorn, lost } = readObjects(text, isRecord);
    if (lost !== null) log.skip(number, lost);
    if (mended !== null) log.repair(number, mended);
    const place = toPlace(number, text);
    const understood = objects.map((object) => lines.read(object, place));
    if (!understood.every(Boolean)) log.leaveOut('lines of unknown types');
    return lost === null && isTorn !== true && understood.every(Boolean);
  };

  return {
    line: ({ number, text }) => {
      if (text?.trim() === '' || branches.needsStart()) return;
      log.readLine();
      if (text === null) log.skip(number, 'longer than a line can be');
      const isUnderstood = text !== null && readText(number, text);
      if (!isUnderstood && closed === undefined) unknown.push({ number, text });
    },
    settle: () => {
      lines.settle?.();
      branches.settle();
    },
    end: () => {
      if (lines.end === undefined) lines.settle?.();
      else lines.end();
      branches.settle();
    },
    take: branches.take,
    checkpoint: () => {
      const state = (lines.heldLines?.() ?? 0) > 0 ? null : saveTree(tree);
      if (state === null || branches.needsStart() || !isReadable) return null;
      const [recent, older] = ids.memory();
      return {
        v: checkpointVersion,
        agent,
        branches: state,
        ids: [recent, older],
        head: { ...head },
        lines: lines.state?.() ?? {},
      };
    },
    needsStart: () => !isReadable || branches.needsStart(),
    waitsForResult: branches.waits,
    held: () => branches.heldRecords() + (lines.heldLines?.() ?? 0),
    head: () => ({ ...head }),
    report: log.report,
    unknown: () => [...unknown],
  };
}

const emptyHead: AgentLogHead = {
  id: null,
  cwd: null,
  version: null,
  startedAt: null,
  title: null,
  forkedFrom: null,
  copiedFrom: [],
  parentId: null,
};

/** The first word about each counts. */
export function addToHead(
  head: AgentLogHead,
  { startedAt, ...texts }: Partial<Record<keyof AgentLogHead, unknown>>,
): void {
  for (const key of ['id', 'cwd', 'version', 'title', 'parentId'] as const)
    if (head[key] === null && hasText(texts[key])) head[key] = texts[key];
  head.startedAt ??= toTimestamp(startedAt) ?? null;
}
