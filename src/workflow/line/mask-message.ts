/** What a person says to a model, without secrets. */
import type { Project } from '../../ports/project.ts';

/** A secret in a message goes no further than here. */
export async function maskMessage<Wish extends { message?: string | undefined }>(
  project: Project,
  wish: Wish,
): Promise<Wish> {
  if (wish.message === undefined) return wish;
  const { text, count } = await project.masker.mask(wish.message);
  if (count > 0) {
    project.notices.warn(
      `${count} ${count === 1 ? 'secret in your message was' : 'secrets in your message were'} masked.`,
    );
  }
  return { ...wish, message: text };
}
