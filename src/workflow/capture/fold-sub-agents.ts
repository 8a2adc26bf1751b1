/** The work of sub-agents, as one note each: what it was, and its own records. */
import type { AgentUnit } from '../../conversation/agent-log.ts';
import { loadAgentLog } from '../../agents/open-log.ts';
import type { KnownRecord } from '../../conversation/record.ts';
import type { Project } from '../../ports/project.ts';
import type { Capture } from '../../ports/agent-logs.ts';
import { nameOf, type Follower } from './follow-log.ts';

/**
 * Writes what is new of them on the line and in the turn that is open; one that goes on in the background gets a note each time. How
 * many entries they made.
 */
export async function foldSubAgents(project: Project, capture: Capture, follower: Follower): Promise<number> {
  const { agent, path, folded } = follower.log();
  const units: AgentUnit[] = [];
  const earlier = { ...folded };
  const openLog = await loadAgentLog(agent);
  for (const found of await capture.logs.subAgents(agent, path)) {
    const stat = await capture.logs.stat(agent, found.path);
    const before = folded[found.path] ?? { records: 0, size: 0 };
    if (stat === null || stat.size === before.size) continue;
    const reading = await capture.logs.read(found.path, null);
    if (reading === null) continue;
    const reader = openLog({ hash: project.hash, importedAt: project.clock.now().toISOString() });
    for await (const line of reading.lines) reader.line(line);
    // A tool may be at work still: its call comes with the next note.
    if (!reader.waitsForResult()) reader.settle();
    const all = reader.take().flatMap((step) => ('unit' in step ? step.unit.records : []));
    let count = before.records;
    // A drainer that was killed has left notes that were not counted yet.
    for (let there = -1; there !== 0; count += there) there = await follower.noted(toNoteId(found.path, count));
    folded[found.path] = { records: all.length, size: stat.size };
    const records = all.slice(count);
    const [first] = records;
    if (first !== undefined) units.push(toUnit(found, count, first, records));
  }
  if (units.length === 0) return 0;
  return follower.add(units).catch((error: unknown) => {
    // Nothing of it was written: it comes with the next drain or sweep.
    for (const name of Object.keys(folded)) folded[name] = earlier[name] ?? { records: 0, size: 0 };
    throw error;
  });
}

/** `before`: how many records the earlier notes have. */
function toNoteId(path: string, before: number): string {
  return before === 0 ? nameOf(path) : `${nameOf(path)}-${before}`;
}

function toUnit(
  { path, callId, description }: { path: string; callId: string | null; description: string },
  before: number,
  { timestamp }: KnownRecord,
  records: KnownRecord[],
): AgentUnit {
  const about = description === '' ? '' : ` (${description})`;
  const count = `${records.length} ${before === 0 ? '' : 'more '}${records.length === 1 ? 'record' : 'records'}`;
  const note: KnownRecord = {
    type: 'note',
    id: toNoteId(path, before),
    timestamp,
    text: `The sub-agent ${nameOf(path)}${about} worked on this: ${count}.`,
    ...(callId === null ? {} : { tool_call_id: callId }),
    records,
  };
  return { kind: 'reply', records: [note], branch: 0 };
}
