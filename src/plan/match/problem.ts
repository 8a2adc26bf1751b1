/** A problem in a plan, and its position. */

/** A position in the plan's text; line and column count from 1, columns in UTF-16 units. */
export interface Position {
  line: number;
  column: number;
}

/** A mistake, or something worth knowing, at one position in a plan. */
export interface Problem extends Position {
  /** One line that describes the text found and the text expected. */
  message: string;
  /** A short correct example, or the next step. */
  hint?: string;
  /** The problem's action, counted from 1. */
  action?: number;
}
