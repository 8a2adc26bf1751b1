/** A model behind a server: what every wire form has in common. */
import { TeddyError } from '../errors.ts';
import type { Model, ModelEvent, ModelRequest } from '../ports/model.ts';
import { parseEndpoint, type EndpointOptions } from './endpoint.ts';
import { planAgain, toFailure, toTeddyError } from './failure.ts';
import { defaultDelays, type Service } from './wire.ts';

export interface ServerModelOptions extends EndpointOptions, Partial<Omit<Service, 'endpoint' | 'model'>> {
  model: string;
}

/** `onBegun` is called when the server has accepted the request. */
type Answer = (service: Service, request: ModelRequest, onBegun: () => void) => AsyncIterable<ModelEvent>;

/** Throws BAD_SETTING for a base URL or key that could never be sent; everything else fails in `answer`. */
export function serverModel(
  { model, preset, baseUrl, apiKey, keyOrigin, ...rest }: ServerModelOptions,
  answer: Answer,
): Model {
  const endpoint = parseEndpoint({ preset, baseUrl, apiKey, keyOrigin });
  const service = { isStreamed: true, ...defaultDelays, ...rest, endpoint, model };
  const label = `${model} at ${endpoint.url}`;
  return { provider: endpoint.preset.name, model, label, answer: (request) => explaining(service, request, answer) };
}

async function* explaining(service: Service, request: ModelRequest, answer: Answer): AsyncGenerator<ModelEvent> {
  let begun = false;
  try {
    yield* answer(service, request, () => {
      begun = true;
    });
  } catch (error) {
    if (request.signal.aborted) throw interrupted(service, request);
    const failure = toFailure(error, begun);
    throw failure === null ? error : toTeddyError(failure, service.endpoint, service.model, request);
  }
}

function interrupted({ endpoint }: Service, { again = planAgain }: ModelRequest): TeddyError {
  return new TeddyError('INTERRUPTED', `Interrupted while the model at ${endpoint.url} was answering.`, again);
}
