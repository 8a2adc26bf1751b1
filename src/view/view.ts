/** The one way in which a session is read: along a line, turn by turn. Everything is a plain value. */
export {
  readSession,
  groupByTurn,
  outlineTurn,
  toLogEntry,
  toStep,
  type Session,
  type Step,
  type TurnOutline,
} from './session.ts';
export { isCaptured, readParts, readTurn, toTurn, type Turn } from './turn.ts';
export {
  maxShownText,
  readBodies,
  readTurnFile,
  toShowCommand,
  type CutFile,
  type TurnAt,
  type TurnBodies,
} from './bodies.ts';
