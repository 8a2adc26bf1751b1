/** The workflow's verbs for the calls about sessions, bound to one opened project. */
import type { HistoryFormat } from '../conversation/history/history.ts';
import { TeddyError } from '../errors.ts';
import type { Project } from '../ports/project.ts';
import type { Oid } from '../names.ts';
import { appendRecords, type AppendRequest } from '../workflow/line/append-records.ts';
import { findLine } from '../workflow/line/find.ts';
import { followLine, type FollowRequest } from '../workflow/conversation/follow-line.ts';
import { listSessions } from '../workflow/review/list-sessions.ts';
import { showHistory } from '../workflow/conversation/show-history.ts';

interface HistoryRequest {
  selector: string;
  format: HistoryFormat;
  from?: string | undefined;
  /** By default, the newest commit on the line. */
  commit?: Oid | undefined;
}

export type SessionApi = ReturnType<typeof sessionApi>;

export function sessionApi(project: Project) {
  return {
    append(request: AppendRequest) {
      // The user may have changed their name or the masked secrets since.
      project.repository.reloadSettings();
      return appendRecords(project, request);
    },
    list: () => listSessions(project),
    /** Throws UNKNOWN_COMMIT for another session's commit. */
    async history({ selector, format, from, commit }: HistoryRequest) {
      const { session } = await findLine(project, selector);
      const target = commit ?? selector;
      const shown = await showHistory(project, { format, target, ...(from === undefined ? {} : { from }) });
      if (shown.session === session) return shown;
      const message = `${shown.commit.slice(0, 12)} is not a commit in ${session}.`;
      throw new TeddyError('UNKNOWN_COMMIT', message, "`teddy log` shows a session's commits.");
    },
    follow: (request: FollowRequest) => followLine(project, request),
  };
}
