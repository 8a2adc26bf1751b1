/** Has a model write files, in a conversation message that allows nothing else. */
import { userMessages } from '../../conversation/records/transcript.ts';
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { readLine } from '../../view/view.ts';
import type { WriteRecord } from '../../write/write.ts';
import { findHeadLine } from '../line/find.ts';
import { findNewestWrites, findTarget, findWritesLine } from '../writes/find-target.ts';
import { claimLeftover } from '../writes/recover.ts';
import type { ChatListener, ChatOptions, ChatOutcome, OnlyWrites } from './chat.ts';
import { chatTurn } from './turn.ts';

interface FilesRequest extends Omit<ChatOptions, 'onlyWrites' | 'mode'> {
  /** The command named in a hint also passes this on. */
  approvesAll?: boolean;
  /** The ID of an unfinished write session; its file comes first, without a question. */
  resume?: string | undefined;
}

/** The turn's place and its message; the message is undefined when one is already waiting in the turn. */
type Asked = Pick<ChatOptions, 'selector' | 'message'> & Pick<OnlyWrites, 'isOffLine'> & { named: string | undefined };

/**
 * Asks for files. The turn is on the selected line or on HEAD's, otherwise in the session named `writes`, with the
 * files still in the work tree. Without a message, continues with the waiting one. Throws the errors of `chatTurn`,
 * `findTarget` and `claimLeftover`, and any error that prevents writing content; in that case the content stays in
 * staging.
 */
export async function askForFiles(
  project: Project,
  { approvesAll = false, resume, ...options }: FilesRequest,
  listener: ChatListener,
): Promise<ChatOutcome> {
  if (options.message?.trim() === '') throw nothingAskedError();
  const left = resume === undefined ? undefined : await claimLeftover(project, resume);
  try {
    const asked = left === undefined ? await findAsked(project, options) : await findTurnOf(project, left.held.record);
    const { isOffLine, named, ...turn } = asked;
    const where = named === undefined ? '' : ` --session ${toShellWord(named)}`;
    const onlyWrites = { isOffLine, left, goesOn: `teddy write ask${approvesAll ? ' -y' : ''}${where}` };
    return await chatTurn(project, { ...options, ...turn, onlyWrites }, listener);
  } catch (error) {
    throw error instanceof TeddyError && error.code === 'EMPTY_MESSAGE' ? nothingAskedError() : error;
  } finally {
    await left?.held.staged.close();
  }
}

async function findAsked(project: Project, { selector, message }: Pick<ChatOptions, 'selector' | 'message'>) {
  const isOffLine = (await findTarget(project, selector)).line === null;
  if (isOffLine && message === undefined && (await findNewestWrites(project)) === null) throw nothingAskedError();
  const ref = isOffLine ? shortRef((await findWritesLine(project)).ref) : selector;
  return { isOffLine, selector: ref, message, named: selector } satisfies Asked;
}

/**
 * Finds the turn that waits on the file's line, usually the turn that began the file; otherwise makes a turn that asks
 * for the file.
 */
async function findTurnOf(project: Project, { line, target, operation, intent }: WriteRecord): Promise<Asked> {
  const { store } = project.repository;
  const { ref } = line ?? (await findWritesLine(project));
  const tip = await store.resolve(ref);
  const latest = tip === null ? null : (await readLine(store, tip)).latest;
  const isAsked = latest?.status === 'open' && userMessages(latest.records).length > 0;
  const here = (await findHeadLine(project))?.ref ?? null;
  return {
    isOffLine: line === null,
    selector: shortRef(ref),
    message: isAsked ? undefined : `Write ${target} (${operation}): ${intent}`,
    named: here === (line?.ref ?? null) ? undefined : shortRef(ref),
  };
}

function nothingAskedError(): TeddyError {
  return new TeddyError(
    'EMPTY_MESSAGE',
    'There is no message that says what to write.',
    'Say what to write: `teddy write ask -m "Write docs/guide.md: ..."`.',
  );
}
