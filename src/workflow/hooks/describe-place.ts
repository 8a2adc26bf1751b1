/** Where in a session somebody is who has just switched to a branch. */
import type { Project } from '../../ports/project.ts';
import { mainLineRef, type SessionId, type TurnName } from '../../names.ts';
import { findHeadLine, lineName } from '../line/find.ts';
import { readLine, type TurnStatus } from '../line/read.ts';

export interface LinePosition {
  session: SessionId;
  /** Null: the session's main line. */
  line: string | null;
  /** Null: nothing was said yet. */
  turn: { turn: TurnName; status: TurnStatus } | null;
}

/** Null: HEAD is on no line, or git is in the middle of something. */
export async function describePlace(project: Project): Promise<LinePosition | null> {
  const line = await findHeadLine(project);
  if (line === null || line.tip === null) return null;
  if ((await line.workspace?.operationInProgress(line.ref)) !== null) return null;
  const { latest } = await readLine(project.repository.store, line.tip);
  return {
    session: line.session,
    line: line.ref === mainLineRef(line.session) ? null : lineName(line),
    turn: latest && { turn: latest.turn, status: latest.status },
  };
}
