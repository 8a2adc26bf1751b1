/**
 * Injected into `dist/cli.cjs`: the classes of the web that the `openai` package uses. Node's own load undici, 35 to 50 ms. The
 * package asks for FormData only to tell whether it was given one.
 */
export { Headers, Response } from '../src/web/response.ts';

export class FormData {}
