/** Verifies a line, a range of one, or every line of the repository. */
import type { Project } from '../../ports/project.ts';
import type { Oid, SessionId } from '../../names.ts';
import { findRecorded, listRecorded, type RecordedLine } from '../line/find-recorded.ts';
import { findBrought, type BroughtChange } from './find-brought.ts';
import { checkBrought } from './check-brought.ts';
import { verifyLine, type VerifyOptions } from './line.ts';
import type { VerifiedLine, Violation } from '../../session/violation.ts';

export interface VerifySessionRequest extends Pick<VerifyOptions, 'signal' | 'onProgress' | 'signedBy'> {
  /** As of `findRecorded`. */
  target?: string | undefined;
  /** Every line of the repository. */
  all: boolean;
  fsck: boolean;
}

interface VerifiedChange {
  base: Oid;
  head: Oid;
  violations: Violation[];
}

export interface VerifiedSessions {
  lines: VerifiedLine[];
  /** Of a range alone: what is wrong with the session files that it brings, in a merge as well. */
  change?: VerifiedChange;
  /** What `git fsck` said; null: it was not asked. */
  fsck: string[] | null;
}

/** Throws UNKNOWN_SESSION, UNKNOWN_COMMIT, AMBIGUOUS_SESSION, INTERRUPTED. */
export async function verifySession(project: Project, request: VerifySessionRequest): Promise<VerifiedSessions> {
  const { target, all, fsck, ...options } = request;
  const brought = all ? null : await findBrought(project, target);
  const change = brought && {
    base: brought.base,
    head: brought.head,
    violations: await checkBrought(project.repository.store, brought),
  };
  const recorded = all ? await listRecorded(project) : await listMeant(project, target, brought, change);
  const lines = await verifyLines(project, recorded, options);
  const tips = [...new Set(recorded.map(({ tip }) => tip))];
  return {
    lines,
    ...(change === null ? {} : { change }),
    fsck: fsck ? await project.repository.store.fsck(tips) : null,
  };
}

/** A range without an entry is one of a line, or its files have no line. */
async function listMeant(
  project: Project,
  target: string | undefined,
  brought: BroughtChange | null,
  change: VerifiedChange | null,
): Promise<RecordedLine[]> {
  if (brought !== null && brought.lines.length > 0) return brought.lines;
  return change !== null && change.violations.length > 0 ? [] : [await findRecorded(project, target)];
}

/** What a line has in common with one of the same session before it is looked at once, and told there. */
async function verifyLines(
  project: Project,
  recorded: readonly RecordedLine[],
  { onProgress, ...options }: VerifyOptions,
): Promise<VerifiedLine[]> {
  const lines: VerifiedLine[] = [];
  const known = new Map<SessionId, Oid[]>();
  let done = 0;
  for (const line of recorded) {
    const before = known.get(line.session) ?? [];
    const report = onProgress && ((entries: number) => onProgress(done + entries));
    const verified = await verifyLine(project, line, {
      ...options,
      known: before,
      ...(report ? { onProgress: report } : {}),
    });
    lines.push(verified);
    done += verified.entries;
    known.set(line.session, [...before, line.tip]);
  }
  return lines;
}
