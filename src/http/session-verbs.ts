/** What the calls about sessions do: the verbs of the workflow, bound to one opened project. */
import type { HistoryFormat } from '../conversation/history.ts';
import { TeddyError } from '../errors.ts';
import type { Project } from '../ports/project.ts';
import type { Oid, SessionId } from '../names.ts';
import { appendRecords, type AppendedRecords, type AppendRequest } from '../workflow/line/append-records.ts';
import { findLine } from '../workflow/line/find.ts';
import { followLine, type FollowedLine, type FollowRequest } from '../workflow/conversation/follow-line.ts';
import { listSessions, type ListedSession } from '../workflow/review/list-sessions.ts';
import { showHistory, type ShownHistory } from '../workflow/conversation/show-history.ts';

interface HistoryRequest {
  selector: string;
  format: HistoryFormat;
  from?: string;
  /** The newest of the line if not given. */
  commit?: Oid;
}

export interface SessionVerbs {
  append(request: AppendRequest): Promise<AppendedRecords>;
  list(): Promise<ListedSession[]>;
  /** Throws UNKNOWN_COMMIT where the commit is none of the session's. */
  history(request: HistoryRequest): Promise<ShownHistory>;
  follow(request: FollowRequest): Promise<FollowedLine>;
}

export function bindSessionVerbs(project: Project): SessionVerbs {
  return {
    append(request) {
      // Who the user is, and what is masked, may have been set since.
      project.repository.reloadSettings();
      return appendRecords(project, request);
    },
    list: () => listSessions(project),
    async history({ selector, commit, ...wish }) {
      const line = await findLine(project, selector);
      const shown = await showHistory(project, { ...wish, target: commit ?? selector });
      if (shown.session !== line.session) throw toForeignCommit(shown.commit, line.session);
      return shown;
    },
    follow: (request) => followLine(project, request),
  };
}

function toForeignCommit(commit: Oid, session: SessionId): TeddyError {
  const message = `${commit.slice(0, 12)} is no commit of ${session}.`;
  return new TeddyError('UNKNOWN_COMMIT', message, '`teddy session log` shows the commits of a session.');
}
