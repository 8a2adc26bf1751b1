/** Reads everything said in a session up to one commit: its turns' records, in order, from that commit's tree alone. */
import type { TurnRecords } from '../../conversation/history/fold-history.ts';
import type { Repair } from '../../conversation/history/history.ts';
import { findSource, readTurns, type ConversationSource } from '../../view/view.ts';
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { parseLineRef, type Oid } from '../../names.ts';
import { findLine, lineName } from './find.ts';
import { findArchived, requireCommit, type RecordedLine } from './find-recorded.ts';

/** The place where a conversation is stored. */
export interface ConversationTarget extends ConversationSource {
  /** Null when the user asked for a commit. */
  line: string | null;
  commit: Oid;
}

export interface Conversation extends Omit<ConversationTarget, 'source'> {
  turns: TurnRecords[];
  /** The repairs that the turns' files needed. */
  repairs: Repair[];
}

/**
 * `selector` is the `-s` value; `commit` is anything that git resolves to a commit. Without either, the line that HEAD
 * is on, otherwise the newest session.
 */
export interface ConversationOptions {
  selector?: string | undefined;
  commit?: string | undefined;
}

/** Reads the conversation. Throws UNKNOWN_SESSION, AMBIGUOUS_SESSION, UNKNOWN_COMMIT, NOT_ON_LINE, DAMAGED_SESSION. */
export async function readConversation(project: Project, options: ConversationOptions): Promise<Conversation> {
  const { source, ...place } = await findConversation(project, options);
  return { ...place, ...(await readTurns(project.repository.store, { ...place, source })) };
}

export async function findConversation(
  project: Project,
  { selector, commit }: ConversationOptions,
): Promise<ConversationTarget> {
  if (commit !== undefined) return findAtCommit(project, commit);
  const line = await findLineOrArchive(project, selector);
  return { ...(await findSource(project.repository.store, line.tip, line.session)), line: line.name, commit: line.tip };
}

/** Finds the line, or, when its branch is gone, the archived session. */
async function findLineOrArchive(
  project: Project,
  selector: string | undefined,
): Promise<Pick<RecordedLine, 'session' | 'name' | 'tip'>> {
  const line = await findLine(project, selector).catch(async (error: unknown) => {
    const isUnknown = error instanceof TeddyError && error.code === 'UNKNOWN_SESSION';
    const archived = isUnknown && selector !== undefined && (await findArchived(project.repository.store, selector));
    if (!archived) throw error;
    return archived;
  });
  if ('name' in line) return line;
  const tip = line.tip ?? line.remoteTip;
  if (tip === null) throw new TeddyError('UNKNOWN_SESSION', `${lineName(line)} has no commit.`);
  return { session: line.session, name: lineName(line), tip };
}

async function findAtCommit(project: Project, revision: string): Promise<ConversationTarget> {
  const { store } = project.repository;
  const commit = await requireCommit(store, revision);
  const named = parseLineRef(`refs/heads/${/teddy\/[^/~^@:]+$/.exec(revision)?.[0]}`)?.session;
  return { ...(await findSource(store, commit, named)), line: null, commit };
}
