/** Verifies a line, a range of one, or every line of the repository. */
import type { Project } from '../../ports.ts';
import type { Oid, SessionId } from '../../session/names.ts';
import { findRecorded, listRecorded, type RecordedLine } from '../review/find-recorded.ts';
import { verifyLine, type VerifyOptions } from './verify-line.ts';
import type { VerifiedLine } from './violation.ts';

export interface VerifySessionRequest extends Pick<VerifyOptions, 'signal' | 'onProgress' | 'signedBy'> {
  /** As of `findRecorded`. */
  target?: string | undefined;
  /** Every line of the repository. */
  all: boolean;
  fsck: boolean;
}

export interface VerifiedSessions {
  lines: VerifiedLine[];
  /** What `git fsck` said; null: it was not asked. */
  fsck: string[] | null;
}

/** Throws UNKNOWN_SESSION, UNKNOWN_COMMIT, AMBIGUOUS_SESSION, INTERRUPTED. */
export async function verifySession(project: Project, request: VerifySessionRequest): Promise<VerifiedSessions> {
  const { target, all, fsck, ...options } = request;
  const recorded = all ? await listRecorded(project) : [await findRecorded(project, target)];
  const lines = await verifyLines(project, recorded, options);
  const tips = [...new Set(recorded.map(({ tip }) => tip))];
  return { lines, fsck: fsck ? await project.repository.store.fsck(tips) : null };
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
