/**
 * Which version of the grammar a plan's text is read with. A report records the one that its plan was read with, so that a
 * later teddy reads the same text the same way. A new version gates each reading that it adds or refuses.
 */

/**
 * 1 has no record: reports did not name a version then. 2 reads the slips of models, and refuses misplaced actions. 3 reads a plain
 * `- fact` as a memo, and refuses remarks behind the paths of a list.
 */
export const grammars = [1, 2, 3] as const;
export type Grammar = (typeof grammars)[number];

export const newestGrammar: Grammar = 3;

/** Reads the version that a report records; null for one of a later teddy. */
export function toGrammar(recorded: unknown): Grammar | null {
  if (recorded === undefined) return 1;
  return grammars.find((grammar) => grammar === recorded) ?? null;
}
