/** Follows Codex's rollouts. */
import { addToHead, type AgentContext, type OpenAgentLines } from '../../conversation/logs/agent-reader.ts';
import { toCodexEntry, type CodexEntry, type CodexState } from './entry.ts';
import { callItemTypes, otherItemTypes } from './items.ts';
import { openCodexReader } from './lines.ts';
import { asText, fieldsOf, hasText, isObject, setOf } from '../../conversation/records/import-values.ts';
import type { AgentLogFormat } from '../agent.ts';

export const codexLog: AgentLogFormat = {
  // The content of a record with an envelope looks like an older version's bare item.
  isRecord: (line, before) => isCodexLine(line) && ('payload' in line || !before.includes('"payload"')),
  open: (context, state) => openLines(context, state),
};

const settings = new Set(['session_meta', 'turn_context', 'world_state', 'token_usage_record', 'compacted']);
const items = setOf(...callItemTypes, ...otherItemTypes, 'ghost_snapshot compaction other');
const events = setOf(
  'task_started task_complete turn_started turn_complete turn_aborted thread_rolled_back error',
  'user_message agent_message agent_reasoning agent_reasoning_raw_content token_count item_completed',
  'exec_command_begin exec_command_end thread_settings_applied context_compacted web_search_end',
  'mcp_tool_call_end patch_apply_end entered_review_mode exited_review_mode undo_completed',
);

/** An event of one of these types ends the turn. */
const turnEnds = new Set(['task_complete', 'turn_complete', 'turn_aborted']);

const openLines: OpenAgentLines = (context, saved) => {
  const state = { ...saved } as CodexState;
  const reader = openCodexReader(context, state);
  return {
    read: (object, place) => {
      const entry = toCodexEntry(object, place);
      context.branches.begin({});
      addHead(context, object, entry?.payload);
      if (entry === null) context.log.skip(place.line, 'neither an item nor an event of Codex');
      else reader.read(entry);
      if (entry?.kind === 'event' && turnEnds.has(asText(entry.payload['type']) ?? '')) {
        reader.settle();
        context.branches.endTurn();
      }
      context.branches.end();
      return entry !== null && isKnown(object, entry);
    },
    settle: reader.settle,
    end: reader.decide,
    heldLines: reader.heldLines,
    state: () => ({ ...state }),
  };
};

function isKnown({ type }: Record<string, unknown>, { kind, payload }: CodexEntry): boolean {
  const inner = asText(payload['type']) ?? '';
  if (kind === 'item') return items.has(inner);
  if (kind === 'event') return events.has(inner);
  return type === undefined || settings.has(asText(type) ?? '');
}

function addHead({ head }: AgentContext, { type }: Record<string, unknown>, payload: unknown): void {
  const { id, cwd, cli_version: version, timestamp, forked_from_id: from, history_base: base } = fieldsOf(payload);
  const { source, parent_thread_id: parent } = fieldsOf(payload);
  if (type !== 'session_meta') return;
  if (head.id !== null) return void (hasText(id) && addCopied(head, id));
  const spawn = fieldsOf(fieldsOf(fieldsOf(source)['subagent'])['thread_spawn']);
  const parentId = parent ?? spawn['parent_thread_id'];
  addToHead(head, { id, cwd, version, startedAt: timestamp, parentId });
  if (!hasText(from)) return;
  if (!isObject(base)) addCopied(head, from);
  const { thread_id: thread, end_byte_offset: end } = fieldsOf(base);
  head.forkedFrom = { id: hasText(thread) ? thread : from, endOffset: typeof end === 'number' ? end : null };
}

/**
 * Handles the original session's lines, which older versions copied into a fork with their head; newer versions name
 * the lines' position instead.
 */
function addCopied(head: AgentContext['head'], id: string): void {
  if (id !== head.id && !head.copiedFrom.includes(id)) head.copiedFrom = [...head.copiedFrom, id];
}

const codexLines = ['session_meta', 'response_item', 'event_msg', 'turn_context', 'compacted'];
const codexItems = ['function_call', 'function_call_output', 'local_shell_call', 'custom_tool_call', 'reasoning'];

function isCodexLine(line: Record<string, unknown>): boolean {
  const type = asText(line['type']);
  // The first lines that older versions of Codex wrote.
  if (type === undefined)
    return line['record_type'] === 'state' || ('id' in line && 'timestamp' in line && 'instructions' in line);
  if (isObject(line['payload'])) return 'timestamp' in line;
  if (codexLines.includes(type)) return 'timestamp' in line && !('payload' in line);
  if (type === 'message') return Array.isArray(line['content']) && 'role' in line;
  return codexItems.includes(type) && ('call_id' in line || 'summary' in line || 'action' in line);
}
