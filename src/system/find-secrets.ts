/** Finds the secrets of a text, whoever they belong to. */
import type { FoundSecret } from '../session/mask.ts';
import { formReader, formRows, type FormRow } from './find-secret-forms.ts';
import { markFinder, type MarkFinder } from './mark-finder.ts';
import { findParameters, placeReader, placeRows, type PlaceRow } from './secret-places.ts';
import { findByRules, ruleRows, type RuleRow } from './secret-rules.ts';

export interface FoundSecrets {
  /** Told by their form. */
  formed: FoundSecret[];
  /** Told by where they stand. */
  placed: FoundSecret[];
}

type Row = { form: FormRow } | { place: PlaceRow } | { rule: RuleRow };

/** Made for the first text: most commands mask none. */
let findMarks: MarkFinder<Row> | undefined;

function makeFinder(): MarkFinder<Row> {
  return markFinder<Row>([
    ...formRows().map((form) => ({ mark: form.mark, value: { form } })),
    ...placeRows().map((place) => ({ mark: place.mark, value: { place } })),
    ...ruleRows().map((rule) => ({ mark: rule.mark, value: { rule } })),
  ]);
}

/** Time grows in step with the text's length. What is found may overlap. */
export async function findSecrets(text: string): Promise<FoundSecrets> {
  const [formed, placed, rules]: [FoundSecret[], FoundSecret[], Set<string>] = [[], findParameters(text), new Set()];
  const [readForm, readPlace] = [formReader(text, formed), placeReader(text, placed)];
  findMarks ??= makeFinder();
  findMarks(text, (row, at) => {
    if ('form' in row) readForm(row.form, at);
    else if ('place' in row) readPlace(row.place, at);
    else rules.add(row.rule.rule);
  });
  return { formed: [...formed, ...(await findByRules(text, rules))], placed };
}
