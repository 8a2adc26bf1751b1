/** Follows Claude Code's sessions. */
import { addToHead, type AgentContext, type OpenAgentLines } from '../../conversation/logs/agent-reader.ts';
import { addPlan } from '../../conversation/logs/agent-records.ts';
import { claudeTitle, keepClaudeTitle, readClaudeLine, type ClaudeTitles } from './lines.ts';
import type { SourcePosition } from '../../conversation/records/import-ids.ts';
import type { LineOrigin } from '../../conversation/logs/agent-branches.ts';
import { asText, fieldsOf, hasText, setOf } from '../../conversation/records/import-values.ts';
import type { AgentLogFormat } from '../agent.ts';
import { isQwenLine, isTreeLine } from '../tree-lines.ts';

export const claudeLog: AgentLogFormat = {
  isRecord: isClaudeRecord,
  open: (context, state) => openLines(context, state),
};

type Fields = Record<string, unknown>;

/** Types of bookkeeping lines by version: the first row has existed since before 2.1.197, the second since 2.1.330. */
const bookkeeping = setOf(
  'queue-operation last-prompt mode permission-mode file-history-snapshot summary progress',
  'file-history-delta tools-used cost-state atis-latch api-request api-request-blob api-request-shape',
);

const attachments = setOf(
  'agent_listing_delta skill_listing plan_mode plan_mode_exit plan_mode_reentry queued_command',
  'hook_success hook_cancelled hook_non_blocking_error hook_blocking_error hook_permission_decision',
  'hook_additional_context hook_stopped_continuation hook_system_message hook_error_during_execution',
  'file directory edited_text_file nested_memory todo todo_reminder task_reminder diagnostics',
  'date deferred_tools_delta deferred_tools_record environment model prompt_snapshot',
  'remote_session_change session_context total_tokens_reminder',
  'instructions mcp_instructions_delta mcp_dropped_tools_delta mcp_resource language context_efficiency',
  'output_style output_style_instructions output_token_usage token_usage budget_usd date_change',
  'opened_file_in_ide selected_lines_in_ide at_mention_reference already_read_file edited_image_file',
  'compact_file_reference pdf_reference plan_file_reference inlined_image_paths read_truncation_notice',
  'invoked_skills dynamic_skill skill_mention agent_mention command_permissions ultrathink_effort',
  'auto_mode auto_mode_exit sandbox_instructions relevant_memories memory_update',
);

const systemLines = setOf('compact_boundary stop_hook_summary turn_duration local_command informational api_error');

/** A line of one of these types ends the turn. */
const turnEnds = new Set(['stop_hook_summary', 'turn_duration']);

/**
 * Omits side chains, the conversations of sub-agents, but treats a log that contains nothing else as a session of its
 * own. When the program compacts the conversation, it writes a summary, which this function marks as one, unless
 * nothing comes before it: in that case nothing else remains of the conversation, and the summary becomes the user's
 * message.
 */
const openLines: OpenAgentLines = (context, state) => {
  const { branches, head, log } = context;
  const titles = { ...fieldsOf(state['titles']) } as ClaudeTitles;
  let isSubagent = typeof state['isSubagent'] === 'boolean' ? state['isSubagent'] : null;

  const plan: PlanFile = { ...fieldsOf(state['plan']) };

  const readSystem = (object: Fields, place: SourcePosition): boolean => {
    const { subtype, content } = object;
    if (subtype === 'informational' && hasText(content))
      context.units.aside({ type: 'note', ...context.base(place, object['timestamp'], object['uuid']), text: content });
    else log.leaveOut('lines of bookkeeping');
    if (turnEnds.has(asText(subtype) ?? '')) branches.endTurn();
    return systemLines.has(asText(subtype) ?? '');
  };
  const readLine = (type: string, object: Fields, place: SourcePosition): boolean => {
    if (type === 'system') return readSystem(object, place);
    const isSpoken = type === 'user' || type === 'assistant';
    if (isSpoken || type === 'attachment') {
      if (isSubagent !== true) readPlan(context, object, place, plan);
      readClaudeLine(context, object, place, !branches.isEmpty());
      return isSpoken || attachments.has(asText(fieldsOf(object['attachment'])['type']) ?? '');
    }
    if (bookkeeping.has(type)) log.leaveOut('lines of bookkeeping');
    else if (type === '') log.skip(place.line, 'an object without a type');
    return bookkeeping.has(type);
  };
  const addHead = ({ sessionId, agentId, cwd, version, timestamp }: Fields): void => {
    const own = isSubagent === true ? { id: agentId ?? sessionId, parentId: sessionId } : { id: sessionId };
    addToHead(head, { ...own, cwd, version, startedAt: timestamp });
  };

  return {
    read: (object, place) => {
      const type = asText(object['type']) ?? '';
      if (keepClaudeTitle(titles, object)) {
        head.title = claudeTitle(titles);
        log.leaveOut('titles');
        return true;
      }
      const isSide = object['isSidechain'] === true;
      if (type === 'user' || type === 'assistant') isSubagent ??= isSide;
      if (isSide && isSubagent !== true) log.leaveOut('lines of side chains');
      else if (!branches.begin(toOrigin(object))) log.leaveOut('repeated lines');
      else {
        addHead(object);
        // Any line may be another line's parent, even one without content.
        const isKnown = readLine(type, object, place);
        branches.end();
        return isKnown;
      }
      return true;
    },
    state: () => ({ titles, isSubagent, plan }),
  };
};

/** The file that plan mode makes the model write, according to the model's tool calls. */
interface PlanFile {
  path?: string;
  text?: string;
}

/**
 * Reads the plan from the call that submits it (in some versions, only from its result), otherwise from the file that
 * the model wrote.
 */
function readPlan(context: AgentContext, object: Fields, place: SourcePosition, file: PlanFile): void {
  const { attachment, message, toolUseResult, timestamp } = object;
  const { planFilePath: path } = fieldsOf(attachment);
  if (hasText(path) && path !== file.path) {
    file.path = path;
    delete file.text;
  }
  keepWritten(file, fieldsOf(toolUseResult));
  const { id: answer, content } = fieldsOf(message);
  for (const block of (Array.isArray(content) ? content : []).map(fieldsOf)) {
    const { type, name, id, tool_use_id: result, input } = block;
    const isCall = type === 'tool_use' && name === 'ExitPlanMode';
    const given = isCall ? fieldsOf(input)['plan'] : type === 'tool_result' ? planOf(toolUseResult) : undefined;
    const callId = asText(isCall ? id : result) ?? '';
    const text = asText(given) ?? (isCall ? file.text : undefined) ?? '';
    addPlan(context, place, timestamp, { answer: asText(answer) ?? null, id: callId, callId, text });
  }
}

/** Only the result of the call that submits a plan has both fields. */
function planOf(result: unknown): unknown {
  const { plan, isAgent } = fieldsOf(result);
  return typeof isAgent === 'boolean' ? plan : undefined;
}

function keepWritten(
  file: PlanFile,
  { filePath, content, originalFile, oldString, newString, replaceAll }: Fields,
): void {
  if (filePath === undefined || filePath !== file.path) return;
  if (typeof content === 'string') file.text = content;
  if (typeof originalFile !== 'string' || typeof oldString !== 'string' || typeof newString !== 'string') return;
  const put = () => newString;
  file.text = replaceAll === true ? originalFile.replaceAll(oldString, put) : originalFile.replace(oldString, put);
}

function toOrigin(object: Fields): LineOrigin {
  const { uuid, parentUuid, logicalParentUuid, subtype, attachment } = object;
  const isBoundary = subtype === 'compact_boundary';
  const named = parentUuid === null && isBoundary ? (logicalParentUuid ?? null) : parentUuid;
  return {
    uuid: asText(uuid),
    parent: named === null ? null : asText(named),
    goesOn: isBoundary || undefined,
    isQueued: fieldsOf(attachment)['type'] === 'queued_command',
  };
}

function isClaudeRecord(line: Fields): boolean {
  return isTreeLine(line) && !isQwenLine(line);
}
