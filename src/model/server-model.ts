/** A model behind a server: the parts that all wire formats share. */
import { TeddyError } from '../errors.ts';
import type { Model, ModelEvent, ModelRequest } from '../ports/model.ts';
import { parseEndpoint, type EndpointOptions } from './endpoint.ts';
import { planAgain, toFailure, toTeddyError } from './failure.ts';
import { nameSome, nearestName } from '../session/text/name-some.ts';
import { listModels } from './served-models.ts';
import { defaultDelays, type Service } from './wire.ts';

export interface ServerModelOptions extends EndpointOptions, Partial<Omit<Service, 'endpoint' | 'model'>> {
  model: string;
}

/** Calls `onBegun` when the server has accepted the request. */
type Answer = (service: Service, request: ModelRequest, onBegun: () => void) => AsyncIterable<ModelEvent>;

/** Throws BAD_SETTING for a base URL or key that no request could use; every other failure happens in `answer`. */
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
    if (failure === null) throw error;
    throw await suggestModel(service, toTeddyError(failure, service.endpoint, service.model, request));
  }
}

function interrupted({ endpoint }: Service, { again = planAgain }: ModelRequest): TeddyError {
  return new TeddyError('INTERRUPTED', `Interrupted while the model at ${endpoint.url} was answering.`, again);
}

const listTimeoutMs = 2000;

/** Adds the endpoint's listed models to the error for an unknown model. */
async function suggestModel({ endpoint, model }: Service, error: TeddyError): Promise<TeddyError> {
  if (error.code !== 'MODEL_NOT_FOUND') return error;
  const known = (await listModels(endpoint, listTimeoutMs).catch(() => [])).map(({ id }) => id);
  if (known.length === 0 || known.includes(model)) return error;
  const similar = known.filter((name) => name.includes(model) || model.includes(name)).slice(0, 3);
  const near = similar.length > 0 ? similar : [nearestName(model, known)].filter((name) => name !== null);
  const guess = near.length > 0 ? `Is it ${near.join(', or ')}?` : `It has ${nameSome(known)}.`;
  return new TeddyError(error.code, error.message, `${guess} ${error.hint}`);
}
