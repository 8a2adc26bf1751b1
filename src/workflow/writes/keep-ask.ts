/**
 * Keeps the message of `write ask` in git before a model is asked: a blob under `refs/teddy/keep/asks/<process>/<id>`. The name
 * of the process tells whether it is still at work. After the answer the labels of the files' entries hold the message, and
 * `asks/done/<id>` does where it is too long for them.
 */
import { TeddyError } from '../../errors.ts';
import type { RefTip } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { labelLimits, toLabel } from '../../session/entry.ts';
import type { Oid, RefName } from '../../names.ts';
import { isWriteId } from '../../write/write.ts';
import { toText } from '../../view/view.ts';
import { writeBytes } from '../line/keep-bytes.ts';
import { moveRefs } from '../line/move-refs.ts';

export interface Ask {
  id: string;
  /** The masked text, as the model gets it. */
  message: string;
}

const askPrefix = 'refs/teddy/keep/asks/';

export async function beginAsk(project: Project, message: string): Promise<Ask> {
  const oid = await writeBytes(project, message);
  const id = project.ids.writeId();
  await moveRefs(project, [{ ref: await ownRef(project, id), old: null, new: oid }], 'ask a model');
  return { id, message };
}

export async function finishAsk(
  project: Project,
  { id }: Pick<Ask, 'id'>,
  { isKept }: { isKept: boolean },
): Promise<void> {
  const found = await findRef(project, id);
  if (found === null) return;
  const done = { ref: `${askPrefix}done/${id}` as RefName, old: null, new: found.oid };
  const updates = [{ ref: found.ref, old: found.oid, new: null }, ...(isKept ? [done] : [])];
  await moveRefs(project, updates, 'asked a model');
}

/** Null when there is no such message. Throws LOCKED while another process asks. */
export async function takeUpAsk(project: Project, id: string): Promise<Ask | null> {
  const found = isWriteId(id) ? await findRef(project, id) : null;
  if (found === null) return null;
  const ref = await ownRef(project, id);
  if (found.ref !== ref) {
    const moves = [
      { ref, old: null, new: found.oid },
      { ref: found.ref, old: found.oid, new: null },
    ];
    const isTaken = (await project.processes.isAlive(toProcess(found.ref))) === true;
    if (isTaken || !(await moveRefs(project, moves, 'ask a model again'))) {
      throw new TeddyError('LOCKED', `Another process asks with the message ${id}.`, 'Wait for it.');
    }
  }
  return { id, message: await readMessage(project, found.oid) };
}

/** Lists the messages of dead processes, the oldest first. */
export async function listLeftAsks(project: Project): Promise<(Ask & { ref: RefName })[]> {
  const left: (Ask & { ref: RefName })[] = [];
  for (const { ref, oid } of await project.repository.store.listRefs(askPrefix)) {
    if ((await project.processes.isAlive(toProcess(ref))) !== false) continue;
    left.push({ id: toId(ref), message: await readMessage(project, oid), ref });
  }
  return left;
}

/** Splits a message as the details of an entry show it. */
export function toMessageLines(message: string): string[] {
  return message.split('\n').map((line) => line.trimEnd());
}

/** Whether an entry shows the whole message beside `taken` other lines. */
export function isShownWhole(message: string, taken: number): boolean {
  const lines = toMessageLines(message);
  return (
    lines.length + taken <= labelLimits.details && lines.every((line) => toLabel(line, labelLimits.detail) === line)
  );
}

async function readMessage(project: Project, oid: Oid): Promise<string> {
  return toText(await project.repository.store.readBlob(oid));
}

async function ownRef(project: Project, id: string): Promise<RefName> {
  return `${askPrefix}${await project.processes.ownName()}/${id}` as RefName;
}

async function findRef(project: Project, id: string): Promise<RefTip | null> {
  const tips = await project.repository.store.listRefs(askPrefix);
  return tips.find(({ ref }) => toId(ref) === id && toProcess(ref) !== 'done') ?? null;
}

function toProcess(ref: RefName): string {
  return ref.slice(askPrefix.length).split('/')[0] ?? '';
}

function toId(ref: RefName): string {
  return ref.slice(ref.lastIndexOf('/') + 1);
}
