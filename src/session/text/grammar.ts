/**
 * The versions of the grammar for the text of plans. A report records the version that parsed its plan, so that a later
 * teddy parses that text in the same way. A new version guards each reading that it adds or refuses.
 */

/**
 * Reports do not record 1, because they did not name a version then. 2 accepts models' slips, and refuses misplaced
 * actions. 3 reads a plain `- fact` as a memo, and refuses remarks after the paths of a list.
 */
export const grammars = [1, 2, 3] as const;
export type Grammar = (typeof grammars)[number];

export const newestGrammar: Grammar = 3;

/** Reads the version that a report records; null for a later teddy's version. */
export function toGrammar(recorded: unknown): Grammar | null {
  if (recorded === undefined) return 1;
  return grammars.find((grammar) => grammar === recorded) ?? null;
}
