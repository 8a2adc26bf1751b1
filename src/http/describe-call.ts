/** What the descriptions of all calls have in common. */
import type { z } from '@hono/zod-openapi';
import { errorAnswer } from './schemas.ts';

export const security = [{ token: [] }];

const reasons = {
  400: 'What was sent is not valid.',
  404: 'There is no such session, or it has expired.',
  409: 'It cannot be done as things stand.',
  413: 'The content is too large.',
  503: 'The server has as many streams as it can have.',
};

export function json<Schema extends z.ZodType>(schema: Schema) {
  return { 'application/json': { schema } };
}

export function refusals(...statuses: (keyof typeof reasons)[]) {
  return Object.fromEntries(
    statuses.map((status) => [status, { description: reasons[status], content: json(errorAnswer) }]),
  );
}
