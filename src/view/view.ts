/** The single way to read sessions: by line, by turn, and by file. Returns only plain values. */
export {
  readSession,
  readSteps,
  toStep,
  groupByTurn,
  outlineTurn,
  type Step,
  type TurnOutline,
  type Session,
} from './session.ts';
export { readLines, takeLine, walkLines, type OwnPart } from './lines.ts';
export {
  readTurn,
  readContent,
  toTurn,
  isCaptured,
  readParts,
  parsePending,
  toStatus,
  isOnlyMessage,
  type Turn,
  type TurnContent,
  type TurnSummary,
} from './turn.ts';
export {
  maxShownText,
  readBodies,
  readTurnFile,
  toText,
  toShowCommand,
  type TurnAt,
  type CutFile,
  type TurnBodies,
} from './bodies.ts';
export { readVerdicts, readTurnVerdicts, describeRejection, lastWord, type Verdict } from './verdicts.ts';
export {
  readLine,
  readLineTurns,
  findEntry,
  readTurnState,
  findTurn,
  lookForTurn,
  awaitsVerdict,
  readLineAt,
  refreshLine,
  withEntry,
  findWaiting,
  findAsked,
  nextTurn,
  readRecords,
  type TurnState,
  type LineTurns,
  type LineState,
} from './line.ts';
export { readTurns, findSource, type ConversationSource } from './conversation.ts';
export { describeSessions, findPlanned, tellOfLine, type DescribedSession } from './list-sessions.ts';
export type { TurnStatus } from '../session/lines/line-order.ts';
