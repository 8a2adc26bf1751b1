/** A fault of a plan, and where it stands. */

/** A place in the plan's text; both count from 1, columns in UTF-16 units. */
export interface Position {
  line: number;
  column: number;
}

/** A fault, or something worth knowing, at one place of a plan. */
export interface Problem extends Position {
  /** Names what was found and what was expected; one line. */
  message: string;
  /** A short correct example, or the next step. */
  hint?: string;
  /** The action it belongs to, from 1. */
  action?: number;
}
