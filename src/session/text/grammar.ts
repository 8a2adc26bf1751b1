/**
 * The versions of the grammar for plan text. A report records the version that parsed its plan, so that later versions
 * of teddy parse that text in the same way. Each change to the text that teddy accepts or refuses takes effect only in
 * a new version of the grammar.
 */

/**
 * Reports never record 1, because they did not name a version then. 2 accepts models' slips, and refuses misplaced
 * actions. 3 reads a plain `- fact` as a memo, and refuses remarks after the paths in a list.
 */
export const grammars = [1, 2, 3] as const;
export type Grammar = (typeof grammars)[number];

export const newestGrammar: Grammar = 3;

/** Reads the version that a report records; null for a version from a later teddy. */
export function toGrammar(recorded: unknown): Grammar | null {
  if (recorded === undefined) return 1;
  return grammars.find((grammar) => grammar === recorded) ?? null;
}
