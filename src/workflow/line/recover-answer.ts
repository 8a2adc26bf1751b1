/**
 * Saves the part of an answer that a killed command had received: on its line, or under its own ref when the turn no
 * longer waits for it.
 */
import { decodeTranscript } from '../../conversation/history/decode-transcript.ts';
import type { TranscriptRecord } from '../../conversation/records/record.ts';
import type { AnswerTarget, LeftAnswer, OrphanedAnswer } from '../../ports/disk.ts';
import type { Project } from '../../ports/project.ts';
import { formatCount } from '../../session/text/format-count.ts';
import type { Line } from './append.ts';
import { keepPart } from './keep-answer.ts';
import { keepBytes } from './keep-bytes.ts';
import { closeExchange, keepExchange } from './keep-exchange.ts';
import { readLine, readTurnState } from '../../view/view.ts';

/**
 * Recovers this line's answers, and any that belong to no existing line. Returns true when the line may have moved.
 * After a crash here, the next command saves the rest, and no answer twice.
 */
export async function recoverAnswers(project: Project, line: Line): Promise<boolean> {
  let hasRecovered = false;
  for (const orphan of inOrder(await project.answers.orphans())) {
    if (!(await isOurs(project, line, orphan))) continue;
    const left = await orphan.claim();
    if (left === null) continue;
    await recover(project, line, orphan, left);
    await orphan.discard();
    hasRecovered = true;
  }
  return hasRecovered;
}

/** Puts calls first, because their journal also contains the text before them, so teddy then recognizes the text by its ID. */
function inOrder(orphans: OrphanedAnswer[]): OrphanedAnswer[] {
  const isExchange = ({ place }: OrphanedAnswer) => place?.unit === 'exchange';
  return [...orphans.filter(isExchange), ...orphans.filter((orphan) => !isExchange(orphan))];
}

/** Returns true if the answer should be recovered here; another line's answer waits until a command works on that line. */
async function isOurs(project: Project, { ref }: Line, { place }: OrphanedAnswer): Promise<boolean> {
  return place === null || place.ref === ref || (await project.repository.store.resolve(place.ref)) === null;
}

async function recover(project: Project, line: Line, { id, place }: OrphanedAnswer, left: LeftAnswer): Promise<void> {
  if (place !== null && (await isKept(project, line, place, left))) return;
  const { text, damaged } = left;
  const said: string[] = [];
  if (text !== '') said.push(await keepOrAnchor(project, line, id, place, left));
  if (damaged?.length === 0)
    said.push('The saved part of an interrupted answer is gone: somebody has removed its bytes.');
  else if (damaged !== null) {
    const oid = await keepBytes(project, `answers/${text === '' ? id : `${id}-damaged`}`, damaged);
    said.push(`The saved part of an interrupted answer is damaged. To see what was found: \`git cat-file -p ${oid}\`.`);
  }
  for (const notice of said) project.notices.warn(notice);
}

/** Returns true if the answer is already on the line because the command was killed only after adding it. */
async function isKept(project: Project, { ref }: Line, place: AnswerTarget, { text }: LeftAnswer): Promise<boolean> {
  const { store } = project.repository;
  const tip = place.ref === ref ? await store.resolve(ref) : null;
  if (tip === null) return false;
  const { session, turns, entryOid } = await readLine(store, tip);
  if (session !== place.session || !turns.includes(place.turn)) return false;
  const { records } = await readTurnState(store, entryOid, session, place.turn);
  const ids = place.unit === 'exchange' ? decodeTranscript(text).records.map(toId) : [place.id];
  return records.some((record) => record.type !== 'other' && ids.includes(record.id));
}

function toId(record: TranscriptRecord): string | null {
  return record.type === 'other' ? null : record.id;
}

async function keepOrAnchor(
  project: Project,
  line: Line,
  id: string,
  place: AnswerTarget | null,
  { text, unconfirmedBytes }: LeftAnswer,
): Promise<string> {
  if (place?.unit === 'exchange') return keepCalls(project, line, place, text);
  const what = `An answer that an interrupted command had received (${formatCount(text.length)} characters)`;
  const doubt =
    unconfirmedBytes === 0 ? '' : ` Its last ${formatCount(unconfirmedBytes)} bytes had not been confirmed as saved.`;
  const isOfLine = place !== null && place.ref === line.ref;
  const received = { text, thoughts: '', usage: null, continuations: [] };
  if (isOfLine && (await keepPart(project, line, place, received)) !== null) {
    return `${what} was saved in turn ${place.turn}.${doubt}`;
  }
  const oid = await keepBytes(project, `answers/${id}`, text);
  const why =
    place === null
      ? 'teddy cannot tell where it belongs'
      : `Turn ${place.turn} of ${place.session} is no longer waiting for it`;
  return `${what} was saved separately: \`git cat-file -p ${oid}\`. ${why}.${doubt}`;
}

/** Saves the calls. Keeps existing results; adds, for a call that was running, a result that reports its effect as unknown. */
async function keepCalls(project: Project, line: Line, place: AnswerTarget, journal: string): Promise<string> {
  const records = closeExchange(project, journal);
  const calls = records.filter(({ type }) => type === 'tool_use').length;
  const lost = records.filter((record) => record.type === 'tool_result' && record.reason === 'recovered').length;
  const what = `${calls} tool ${calls === 1 ? 'call' : 'calls'} from an interrupted command, ${lost} without a result,`;
  const isOfLine = place.ref === line.ref && calls > 0;
  if (isOfLine && (await keepExchange(project, line, place, records, null)) !== null) {
    return `${what} ${calls === 1 ? 'was' : 'were'} saved in turn ${place.turn}.`;
  }
  const oid = await keepBytes(project, `answers/${place.id}`, journal);
  return `${what} ${calls === 1 ? 'was' : 'were'} saved separately: \`git cat-file -p ${oid}\`. Turn ${place.turn} of ${place.session} is no longer waiting for ${calls === 1 ? 'it' : 'them'}.`;
}
