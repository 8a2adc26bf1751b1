/** The bytes of a request and its answer, underneath the `openai` package. */

export interface Wire {
  fetch(url: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Whether the server has said `[DONE]`, which the package keeps to itself. */
  sawDone(): boolean;
}

/**
 * Sends our own headers instead of the package's, which describe the user's machine and can be added to by
 * OPENAI_CUSTOM_HEADERS. An error's body arrives as `{ error: { message } }`, whatever its dialect was.
 */
export function openWire(apiKey: string): Wire {
  let done = false;
  return {
    async fetch(url, init) {
      const response = await fetch(url, { ...init, headers: headersOf(apiKey) });
      if (!response.ok) return toPlainError(response);
      return watchForDone(response, () => {
        done = true;
      });
    },
    sawDone: () => done,
  };
}

function headersOf(apiKey: string): Record<string, string> {
  const headers = { accept: 'application/json', 'content-type': 'application/json', 'user-agent': 'teddy' };
  return apiKey === '' ? headers : { ...headers, authorization: `Bearer ${apiKey}` };
}

// The package drops every message that is not below `error`, as vLLM and FastAPI send them.
async function toPlainError(response: Response): Promise<Response> {
  const message = serverMessage(await response.text()) || 'no message';
  return new Response(JSON.stringify({ error: { message } }), { status: response.status, headers: response.headers });
}

function serverMessage(body: string): string {
  const answer = parseJson(body);
  const error = field(answer, 'error');
  const dialects = [field(error, 'message'), error, field(answer, 'message'), field(answer, 'detail')];
  return dialects.find((text) => typeof text === 'string') ?? body;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

const longestMark = '\r\ndata: [DONE]'.length;

function watchForDone(response: Response, onDone: () => void): Response {
  if (response.body === null) return response;
  let tail = '\n';
  const watch = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const text = tail + Buffer.from(chunk).toString('latin1');
      if (/[\r\n]data: ?\[DONE\]/.test(text)) onDone();
      tail = text.slice(-longestMark);
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(watch), { status: response.status, headers: response.headers });
}
