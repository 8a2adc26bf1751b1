/** Compares a log's section with its expected content. */
import type { Store } from '../../ports/git.ts';
import type { LogSection } from '../../session/context/context-log-sections.ts';
import type { Oid } from '../../names.ts';
import type { RenderedLog, Expected } from './verify.ts';

/**
 * Compares one section. `isTaken` means that a branch took the section from the turn that it left, in which the user
 * may have asked several times, in other states of the line.
 */
export function compare(section: LogSection, expected: Expected, result: RenderedLog, isTaken = false): void {
  if (expected.kind === 'wrong') {
    const { message, missing = null } = expected;
    result.differences.push({ section: nameOf(section), message, shown: section, ...toMissing(missing) });
    return;
  }
  const masked = section.provenance.kind === 'shown' ? section.provenance.masked : 0;
  if (masked === 0 && expected.kind === 'text' && section.body === expected.body) result.derived += 1;
  else if (masked > 0 && expected.kind === 'text' && isMaskedFrom(section.body, expected.body)) result.attested += 1;
  else if (expected.kind === 'unknown' || (isTaken && fromLine.includes(section.name))) {
    result.attested += 1;
    result.unproven.push(section.body);
  } else
    result.differences.push({ section: nameOf(section), message: 'It does not match the commits.', shown: section });
}

/** Sections not identified by a blob. */
const fromLine: LogSection['name'][] = ['history', 'tree'];

function nameOf({ name, path }: LogSection): string {
  return path === null ? name : `${name} ${path}`;
}

/** Compares a section that a branch took over; masking hides a text that has become a secret since then. */
export function compareKept(section: LogSection, wanted: LogSection | undefined, result: RenderedLog): void {
  if (wanted === undefined || nameOf(wanted) !== nameOf(section))
    result.differences.push({
      section: nameOf(section),
      message: 'The branched turn has no such section there.',
    });
  else if (wanted.body === section.body) result.derived += 1;
  else if (isMaskedFrom(section.body, wanted.body)) result.attested += 1;
  else
    result.differences.push({
      section: nameOf(section),
      message: 'It is not what the branched turn was shown.',
    });
}

export function toMissing(missing: Oid | null): { missing?: Oid } {
  return missing === null ? {} : { missing };
}

const mask = /\[masked: \w[\w .-]{0,99}\]/;

/** Code fences grow with the backticks in the masked text. */
const fences = /`{3,}/g;

/**
 * Returns true if a text is its source with parts masked. The masked parts are unknown, but the rest must match, and
 * each mask stands for at least one character in the source. Never true when anything else differs.
 */
export function isMaskedFrom(shown: string, source: string): boolean {
  const pieces = shown.replace(fences, '```').split(mask);
  const text = source.replace(fences, '```');
  const first = pieces.shift() ?? '';
  const last = pieces.pop();
  if (last === undefined) return first === text;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of pieces) {
    const found = text.indexOf(piece, at + 1);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return text.length - last.length > at && text.endsWith(last);
}

/**
 * Returns true if somebody rebased a commit: teddy sets the same time for author and committer, and a rebase keeps only
 * the author's time.
 */
export async function isRebased(store: Store, commit: Oid): Promise<boolean> {
  const { author, committer } = await store.readCommit(commit);
  const [written, made] = [author, committer].map((ident) => /(\d+) [+-]\d{4}$/.exec(ident)?.[1]);
  return written !== made;
}

/** Excuses differences, because the code and the line below the commit are no longer those that the model saw. */
export function excuseRebased(result: RenderedLog): void {
  const left: RenderedLog['differences'] = [];
  for (const difference of result.differences) {
    const { shown, missing } = difference;
    if (shown === undefined || missing !== undefined || !ofBase.includes(shown.name)) left.push(difference);
    else {
      result.attested += 1;
      result.rebased += 1;
      result.unproven.push(shown.body);
    }
  }
  result.differences = left;
}

const ofBase: LogSection['name'][] = ['history', 'tree', 'file'];
