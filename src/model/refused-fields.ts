/**
 * Some strict servers refuse request fields that most others ignore. teddy then repeats the request without the fields
 * that the server names.
 */
import { toFailure } from './failure.ts';
import type { Service } from './wire.ts';

/**
 * Sends a request, and repeats it without each field that the server refuses. `toBody` omits the fields passed to it;
 * `names` lists all fields that it can omit. Remembers a field as soon as the server accepts the request without it.
 * Throws the errors of `send`.
 */
export async function sendAccepted<Body extends object, Answer>(
  { refused, endpoint, model, onWarning }: Service,
  names: readonly string[],
  toBody: (without: ReadonlySet<string>) => Body,
  send: (body: Body) => Promise<Answer>,
): Promise<Answer> {
  const known = (await refused?.read()) ?? [];
  const without = new Set(known);
  for (;;) {
    const body = toBody(without);
    try {
      const answer = await send(body);
      const found = [...without].filter((name) => !known.includes(name));
      if (found.length === 0) return answer;
      onWarning?.(
        `The request was sent without ${found.join(' and ')}, which ${endpoint.url} does not accept for ${model}.`,
      );
      await refused?.keep([...without]);
      return answer;
    } catch (error) {
      const sent = JSON.stringify(body);
      const name = names.find((one) => !without.has(one) && sent.includes(`"${one}":`) && isRefused(error, one));
      if (name === undefined) throw error;
      without.add(name);
    }
  }
}

const refusing =
  /unsupported|unrecogni[sz]ed|unknown|unexpected|\bextra\b|additional|invalid (?:field|parameter|argument|key|property)|\bnot (?:\w+ ){0,2}(?:supported?|permitted|allowed|recogni[sz]ed|accepted|valid|implemented|available)|n[o']t (?:support|accept|recogni[sz]e|exist)|cannot find|no such|forbidden/i;
/** The server accepts the field itself, but not its value. */
const refusingValue = /(?:unsupported|invalid) value|supported values/i;

function isRefused(error: unknown, name: string): boolean {
  const failure = toFailure(error, false);
  if (failure?.kind !== 'refused' || ![400, 404, 415, 422, 501].includes(failure.status)) return false;
  const { message } = failure;
  const isNamed = new RegExp(String.raw`(?<![\w-])${name}(?![\w-])`).test(message);
  return isNamed && refusing.test(message) && !refusingValue.test(message);
}
