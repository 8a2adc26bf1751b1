/** A problem in a plan, and its place. */

/** A place in the plan's text; line and column count from 1, columns in UTF-16 units. */
export interface Position {
  line: number;
  column: number;
}

/** A mistake, or something worth knowing, at one place of a plan. */
export interface Problem extends Position {
  /** One line that names what was found and what was expected. */
  message: string;
  /** A short correct example, or the next step. */
  hint?: string;
  /** The action it belongs to, counted from 1. */
  action?: number;
}
