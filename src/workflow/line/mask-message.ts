/** Masks the secrets in a person's message, to a model or of a commit. */
import type { Project } from '../../ports/project.ts';

/** A secret in a message goes no further than here. */
export async function maskMessage<Options extends { message?: string | undefined }>(
  project: Project,
  options: Options,
): Promise<Options> {
  if (options.message === undefined) return options;
  const { text, count } = await project.masker.mask(options.message);
  if (count > 0) {
    project.notices.warn(
      `${count} ${count === 1 ? 'secret in your message was' : 'secrets in your message were'} masked.`,
    );
  }
  return { ...options, message: text };
}
