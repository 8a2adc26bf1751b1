/** The work of sub-agents, as one note each: what it was, and its own records. */
import type { AgentUnit } from '../../conversation/agent-log.ts';
import { openAgentLog } from '../../conversation/open-agent-log.ts';
import type { KnownRecord } from '../../conversation/record.ts';
import type { Project } from '../../ports/project.ts';
import type { Capture } from '../../ports/agent-logs.ts';
import type { Follower } from './follow-log.ts';

/** Writes those that are new, on the line and in the turn that is open. How many entries they made. */
export async function foldSubAgents(project: Project, capture: Capture, follower: Follower): Promise<number> {
  const { agent, path, folded } = follower.log();
  const units: AgentUnit[] = [];
  for (const found of await capture.logs.subAgents(agent, path)) {
    if (folded.includes(found.path)) continue;
    const reading = await capture.logs.read(found.path, null);
    if (reading === null) continue;
    const reader = openAgentLog(agent, { hash: project.hash, importedAt: project.clock.now().toISOString() });
    for await (const line of reading.lines) reader.line(line);
    reader.settle();
    const records = reader.take().flatMap((step) => ('unit' in step ? step.unit.records : []));
    const [first] = records;
    if (first === undefined) continue;
    units.push(toUnit(found, first, records));
    folded.push(found.path);
  }
  return units.length === 0 ? 0 : follower.add(units);
}

function toUnit(
  { path, callId, description }: { path: string; callId: string | null; description: string },
  { timestamp }: KnownRecord,
  records: KnownRecord[],
): AgentUnit {
  const id = (path.split('/').at(-1) ?? path).replace(/\.jsonl$/, '');
  const text = `The sub-agent ${id}${description === '' ? '' : ` (${description})`} worked on this: ${records.length} records.`;
  const note: KnownRecord = {
    type: 'note',
    id,
    timestamp,
    text,
    records,
    ...(callId === null ? {} : { tool_call_id: callId }),
  };
  return { kind: 'reply', records: [note], branch: 0 };
}
