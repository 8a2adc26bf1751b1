/** The part that all agents' log readers share: lines, checkpoints and the head. Each agent interprets its own lines. */
import { openBranches, type AgentBranches } from './agent-branches.ts';
import type { AgentLine, AgentLogHead, AgentLogOptions, AgentLogReader } from './agent-log.ts';
import { openTree, saveTree } from './branch-tree.ts';
import { toBase, type LineContext } from './import-context.ts';
import { openImportIds, toPlace, type IdMemory, type SourcePosition } from '../records/import-ids.ts';
import { readObjects } from './import-lines.ts';
import { openImportLog } from './import-report.ts';
import type { RecordForm } from '../records/repair-line.ts';
import { captureSource } from '../records/record.ts';
import { fieldsOf, hasText, toTimestamp } from '../records/import-values.ts';

type Fields = Record<string, unknown>;

/** The state that the reader of an agent's lines works with. */
export interface AgentContext extends LineContext {
  branches: AgentBranches;
  head: AgentLogHead;
}

/** Interprets one agent's lines. */
interface AgentLines {
  /** Returns false for an unknown type of line. */
  read(object: Fields, place: SourcePosition): boolean;
  /** Completes everything that is still open. */
  settle?(): void;
  /** Ends the log; if absent, the reader calls `settle` instead. */
  end?(): void;
  /** Returns the number of buffered lines. */
  heldLines?(): number;
  /** Returns plain JSON from which a later reader can continue after a checkpoint. */
  state?(): Fields;
}

/** `state` is an earlier reader's saved state, or empty. */
export type OpenAgentLines = (context: AgentContext, state: Fields) => AgentLines;

/** Must change whenever a checkpoint's format does. */
const checkpointVersion = 1;

/** The reader remembers between this many and twice as many record and call IDs; a checkpoint contains them all. */
const knownIds = 64;

/** `agent` is the name used for making IDs and recognizing checkpoints. */
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
    const { objects, repaired, isTorn, lost } = readObjects(text, isRecord);
    if (lost !== null) log.skip(number, lost);
    if (repaired !== null) log.repair(number, repaired);
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

/** Fills in the head; the first value of each field wins. */
export function addToHead(
  head: AgentLogHead,
  { startedAt, ...texts }: Partial<Record<keyof AgentLogHead, unknown>>,
): void {
  for (const key of ['id', 'cwd', 'version', 'title', 'parentId'] as const)
    if (head[key] === null && hasText(texts[key])) head[key] = texts[key];
  head.startedAt ??= toTimestamp(startedAt) ?? null;
}
