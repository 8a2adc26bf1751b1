/** What of a log follows from its own sections: boundary, counts, order, and the list of the turn. */
import type { Project } from '../../ports/project.ts';
import { renderTurnContext } from '../../session/context-lines.ts';
import type { ParsedContextLog } from '../../session/context-log-parse.ts';
import type { LogSection } from '../../session/context-log-sections.ts';
import { assembleLog } from '../../session/context-log.ts';
import { isBranchTurn } from '../context/build-request.ts';
import { readTurnFile } from '../line/read.ts';
import type { LogRequest, RenderedLog } from './verify.ts';

interface Frame {
  hash: Project['hash'];
  /** How many tokens they have. */
  count(sections: readonly LogSection[]): number;
}

/** Boundary, counts and layout follow from the sections. */
export function checkFrame(
  { hash, count }: Frame,
  { session, turn, log }: LogRequest,
  { frontMatter, sections }: ParsedContextLog,
  result: RenderedLog,
): void {
  const add = (message: string) => result.differences.push({ section: 'front matter', message });
  if (frontMatter.session !== session) add(`It is of the session ${frontMatter.session}.`);
  // The log of a conversation branch was taken over from the turn that it left.
  if (frontMatter.turn !== turn && !isBranchTurn(turn)) add(`It is of turn ${frontMatter.turn}.`);
  if (assembleLog(frontMatter, sections, hash, count).log !== log) add('It is not what the sections give.');
  const ranks = sections.map(({ name }) => order.indexOf(name));
  const isOrdered = ranks.every(
    (rank, at) => at === 0 || rank > (ranks[at - 1] ?? 0) || (rank === filesAt && ranks[at - 1] === filesAt),
  );
  if (!isOrdered) add('The sections do not stand in their order, or one is there twice.');
}

const order: LogSection['name'][] = ['system', 'memos', 'history', 'tree', 'file', 'message'];
const filesAt = order.indexOf('file');

export async function checkTurnContext(
  { repository }: Project,
  { commit, session, turn }: LogRequest,
  { sections }: ParsedContextLog,
  result: RenderedLog,
): Promise<void> {
  const list = await readTurnFile(repository.store, commit, session, turn, 'turn.context');
  const paths = sections.flatMap(({ path, provenance: { kind } }) =>
    path !== null && (kind === 'shown' || kind === 'missing') ? [path] : [],
  );
  const add = (message: string) => result.differences.push({ section: 'file', message });
  if (list === null) add('The log has no turn.context beside it.');
  else if (renderTurnContext(paths) !== list) add('turn.context lists other files than the log shows.');
}
