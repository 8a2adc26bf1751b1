/** What is said of a model's content that was not accepted: to the model, and to whoever has asked it. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports.ts';
import { maskString } from '../mask-text.ts';
import type { Finalized } from './finalize-write.ts';

export type Rejected = Extract<Finalized, { isWritten: false }>;

/** What the model is told; `message` says what was found. */
export function toCorrection({ record, findings }: Rejected, message: string): string {
  const { target, endMarker } = record;
  const count = findings.length === 1 ? 'this' : `these ${findings.length} things`;
  const rest = `Send the whole corrected content of ${target}, and end with ${endMarker} on its own line.`;
  return `The content of ${target} was not accepted, for ${count}:\n\n${message}\n\n${rest}`;
}

/** It is not corrected any more. */
export async function toRejected(
  project: Project,
  { record, findings }: Rejected,
  reason: string,
): Promise<TeddyError> {
  const { id, target } = record;
  const [first] = findings;
  const place = first?.line === undefined ? '' : `line ${first.line}: `;
  const more = findings.length > 1 ? ` And ${findings.length - 1} more.` : '';
  const details = await maskString(project.masker, `${place}${first?.message ?? ''}`);
  return new TeddyError(
    'VALIDATION_FAILED',
    `${target} was not written, for ${reason}. Validation failed: ${details}${more}`,
    `The content is saved: \`teddy write show ${id}\`; \`teddy write recover ${id} --finalize --force\` writes it as it is.`,
  );
}
