/** Answers every request in place of `web/request.ts`; `vi.restoreAllMocks()` ends it. */
import { vi } from 'vitest';
import * as web from '../../src/web/request.ts';
import { Headers, Response } from '../../src/web/response.ts';

type Sent = Required<Pick<web.WebRequest, 'headers'>> & { body: string; signal: AbortSignal };

export function stubRequests(answer: (url: string, init: Sent) => Promise<globalThis.Response>): void {
  vi.spyOn(web, 'request').mockImplementation(async (url, init) => {
    const { body, status, headers } = await answer(url, init as Sent);
    return new Response((body as unknown as AsyncIterable<Uint8Array>) ?? '', {
      status,
      headers: new Headers(headers),
    });
  });
}
