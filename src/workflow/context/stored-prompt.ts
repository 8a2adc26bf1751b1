/** Reads the prompt of a request that is sent again. Whoever pushed the line may have written the prompt. */
import { nullIfDamaged, TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import type { LogSection } from '../../session/context/context-log-sections.ts';
import type { RequestInfo } from '../../session/context/context-log.ts';
import { parseContextLog } from '../../session/context/context-log-parse.ts';
import type { TurnName } from '../../names.ts';
import { isTrusted, type SteeringText } from '../line/foreign-texts.ts';
import { maskString } from '../line/mask-text.ts';
import { listPrompts } from '../../conversation/prompts/agents.ts';

/** Empty when the prompt is built in, or belongs to a trusted agent. Throws DAMAGED_SESSION. */
export async function readStoredPrompt(project: Project, turn: TurnName, log: string): Promise<SteeringText[]> {
  const { frontMatter, sections } = parseContextLog(log);
  const [system] = sections;
  if (system === undefined || (await isKnownPrompt(project, frontMatter, system))) return [];
  return [{ kind: 'agent', name: `the prompt stored in turn ${turn}`, text: system.body }];
}

async function isKnownPrompt(
  project: Project,
  { agent, mode }: Pick<RequestInfo, 'agent' | 'mode'>,
  { provenance, body }: LogSection,
): Promise<boolean> {
  const source = provenance.kind === 'shown' ? provenance.source : null;
  if (source?.kind !== 'blob') return listKnown(agent, new Map(), mode).includes(body);
  // This clone may lack the blob that the log names.
  const own = await project.repository.store.readBlob(source.oid).catch(nullIfDamaged);
  if (own === null) return false;
  const text = new TextDecoder().decode(own);
  if (!(await isTrusted(project, { kind: 'agent', text }))) return false;
  return listKnown(agent, new Map([[agent, await maskString(project.masker, text)]]), mode).includes(body);
}

function listKnown(agent: string, own: ReadonlyMap<string, string>, mode: RequestInfo['mode']): string[] {
  try {
    return listPrompts(agent, own, mode);
  } catch (error) {
    if (error instanceof TeddyError && error.code === 'UNKNOWN_AGENT') return [];
    throw error;
  }
}
