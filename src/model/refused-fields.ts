/** A strict server refuses fields of a request that most others ignore. It is asked again without those that it names. */
import { toFailure } from './failure.ts';
import type { Service } from './wire.ts';

/**
 * `toBody` leaves out the fields that it is given, of which `names` are all. Each is left out once, and remembered as soon
 * as the server accepts the request without it. Throws what `send` throws.
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
      onWarning?.(`${endpoint.url} takes no ${found.join(' or ')} for ${model}, so it was asked without.`);
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
/** The field is taken, and what it says is not. */
const refusingValue = /(?:unsupported|invalid) value|supported values/i;

function isRefused(error: unknown, name: string): boolean {
  const failure = toFailure(error, false);
  if (failure?.kind !== 'refused' || ![400, 404, 415, 422, 501].includes(failure.status)) return false;
  const { message } = failure;
  const isNamed = new RegExp(String.raw`(?<![\w-])${name}(?![\w-])`).test(message);
  return isNamed && refusing.test(message) && !refusingValue.test(message);
}
