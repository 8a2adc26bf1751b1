/**
 * Logs in each agent's format and version, with every type of line that its reader supports; the texts are the
 * project's own.
 */
import { claudePlans, codexPlans, geminiPlans, qwenPlans } from './agent-plan-fixtures.ts';

type Line = Record<string, unknown>;

const cwd = '/home/ada/shop';
const session = '0190f5fe-0000-7000-8000-00000000abcd';

/** Increasing ids and times. */
function openCounter() {
  let count = 0;
  return {
    id: (prefix = ''): string => {
      count += 1;
      return `${prefix}${String(count).padStart(8, '0')}-0000-4000-8000-000000000000`.slice(0, 36 + prefix.length);
    },
    ms: (): number => Date.UTC(2026, 0, 24, 10, 0, 0) + 1000 * count,
    time: (): string => new Date(Date.UTC(2026, 0, 24, 10, 0, 0) + 1000 * count).toISOString(),
  };
}

interface Tree {
  lines: Line[];
  add(line: Line, parent?: string | null): string;
}

function claude(version: '2.1.197' | '2.1.330'): Line[] {
  const { id, time } = openCounter();
  const lines: Line[] = [];
  const isNew = version === '2.1.330';
  let last: string | null = null;
  const add = (type: string, more: Line, parent = last): string => {
    const uuid = id();
    last = uuid;
    const base = { parentUuid: parent, isSidechain: false, userType: 'external', cwd, sessionId: session, version };
    lines.push({ ...base, gitBranch: 'main', type, uuid, timestamp: time(), ...more });
    return uuid;
  };
  const user = (content: unknown, more: Line = {}, parent = last) => {
    const isTyped = typeof content === 'string' && isNew ? { origin: { kind: 'human' }, promptSource: 'typed' } : {};
    return add('user', { message: { role: 'user', content }, ...isTyped, ...more }, parent);
  };
  const usage = { input_tokens: 12, cache_creation_input_tokens: 30, cache_read_input_tokens: 400, output_tokens: 9 };
  const assistant = (answer: string, block: Line, more: Line = {}, parent = last) => {
    const message = {
      id: answer,
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [block],
      usage,
    };
    return add('assistant', { message, ...more }, parent);
  };
  const text = (said: string) => ({ type: 'text', text: said });
  const call = (callId: string, name: string, input: Line) => ({ type: 'tool_use', id: callId, name, input });
  const result = (callId: string, content: unknown, more: Line = {}, block: Line = {}) =>
    user([{ type: 'tool_result', tool_use_id: callId, content, ...block }], more);
  const attachment = (type: string, more: Line = {}) => add('attachment', { attachment: { type, ...more } });
  const ends = (): void => {
    add('system', { subtype: 'stop_hook_summary', hookCount: 1, preventedContinuation: false });
    if (isNew) add('system', { subtype: 'turn_duration', durationMs: 1200 });
  };
  const plain = (type: string, more: Line = {}): void => void lines.push({ type, sessionId: session, ...more });

  const old = ['queue-operation', 'mode', 'permission-mode', 'last-prompt', 'file-history-snapshot', 'progress'];
  const since = ['atis-latch', 'tools-used', 'cost-state', 'file-history-delta'];
  const requests = ['api-request-shape', 'api-request-blob', 'api-request'];
  for (const type of [...old, ...(isNew ? [...since, ...requests] : [])]) plain(type);
  plain('summary', { summary: 'A login route' });

  user('Add a login route, please.');
  const told = ['agent_listing_delta', 'skill_listing', 'hook_success', 'hook_non_blocking_error', 'hook_cancelled'];
  const toldNew = ['environment', 'model', 'deferred_tools_delta', 'deferred_tools_record', 'total_tokens_reminder'];
  const toldMore = ['session_context', 'date', 'remote_session_change', 'prompt_snapshot', 'hook_permission_decision'];
  for (const type of [...told, ...(isNew ? [...toldNew, ...toldMore] : [])]) attachment(type);
  assistant('msg_1', { type: 'thinking', thinking: 'The routes come first.', signature: 'x' });
  assistant('msg_1', text('I look at the routes and run the tests.'));
  const first = assistant('msg_1', call('toolu_1', 'Read', { file_path: `${cwd}/routes.ts` }));
  const second = assistant('msg_1', call('toolu_2', 'Bash', { command: 'npm test' }));
  attachment('queued_command', { prompt: 'And a logout route.', commandMode: 'prompt' });
  user([{ type: 'tool_result', tool_use_id: 'toolu_2', content: 'Exit code 1', is_error: true }], {}, second);
  user([{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'export const routes = [];' }], {}, first);
  assistant('msg_2', text('Both routes are there.'));
  ends();
  const before = last;

  user([
    text('What is in this picture?'),
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
  ]);
  assistant('msg_3', { type: 'redacted_thinking', data: 'x' });
  assistant('msg_3', call('toolu_3', 'Write', { file_path: `${cwd}/a.ts`, content: 'a' }));
  const denial = isNew ? { toolDenialKind: 'user-rejected', permissionDecision: { decision: 'reject' } } : {};
  result(
    'toolu_3',
    'The tool use was rejected.',
    { toolUseResult: 'User rejected tool use', ...denial },
    { is_error: true },
  );
  user([text('[Request interrupted by user for tool use]')]);

  // The user goes back to the end of the first turn.
  user('What is in it instead?', {}, before);
  assistant('msg_4', text('It shows the'), isNew ? { isAbortedMidStream: true } : {});
  user([text('[Request interrupted by user]')]);
  user('Go on.');
  const error = {
    type: 'message',
    model: '<synthetic>',
    role: 'assistant',
    content: [text('API Error: 529 overloaded')],
  };
  add('assistant', { message: error, isApiErrorMessage: true, apiErrorStatus: 529 });
  add('assistant', { message: { ...error, content: [text('No response requested.')] } });
  add('system', { subtype: 'informational', content: 'A hook did not let the prompt pass.', level: 'warning' });

  user('<local-command-caveat>Caveat: these were commands.</local-command-caveat>', {
    isMeta: true,
    origin: undefined,
  });
  const logicalParentUuid = last;
  add('system', { subtype: 'compact_boundary', logicalParentUuid, content: 'Conversation compacted' }, null);
  user('Ada wants two routes.', { isCompactSummary: true, isVisibleInTranscriptOnly: true });
  user(
    '<command-name>/compact</command-name>\n<command-message>compact</command-message>\n<command-args></command-args>',
  );
  add('system', { subtype: 'local_command', content: '<local-command-stdout>Compacted</local-command-stdout>' });
  user('Let an agent look for the tests.');
  assistant('msg_5', call('toolu_4', isNew ? 'Agent' : 'Task', { description: 'Find tests', prompt: 'Find them.' }));
  result('toolu_4', isNew ? 'Started in the background.' : 'There are two.');
  assistant('msg_6', text('I wait.'));
  ends();
  if (isNew) {
    const report =
      '<task-notification>\n<task-id>a1</task-id>\n<status>completed</status>\n<summary>Agent "Find tests" completed</summary>\n' +
      '<result>There are two.</result>\n</task-notification>';
    user(report, { origin: { kind: 'task-notification' } });
    assistant('msg_7', text('I wait.'));
    ends();
  }
  plain('custom-title', { customTitle: 'Login route' });
  return lines;
}

function codex(): Line[] {
  const { id, time } = openCounter();
  const lines: Line[] = [];
  const add = (type: string, payload: Line): void => {
    lines.push({ timestamp: time(), ordinal: lines.length, type, payload });
  };
  const event = (type: string, more: Line = {}) => add('event_msg', { type, ...more });
  const item = (type: string, more: Line = {}) => add('response_item', { type, id: id('it_'), ...more });
  const message = (role: string, text: string) =>
    item('message', { role, content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }] });
  const used = { input_tokens: 500, cached_input_tokens: 400, output_tokens: 20, reasoning_output_tokens: 5 };
  const usage = () => add('token_usage_record', { response_id: id('resp-'), usage: used });
  add('session_meta', {
    id: session,
    timestamp: time(),
    cwd,
    cli_version: '0.169.0',
    source: 'exec',
    model_provider: 'openai',
    forked_from_id: '0190f5fe-0000-7000-8000-00000000aaaa',
    history_base: { thread_id: '0190f5fe-0000-7000-8000-00000000aaaa', end_byte_offset: 1000 },
  });
  event('task_started');
  message('developer', '<permissions instructions>Ask first.</permissions instructions>');
  message('user', `<environment_context><cwd>${cwd}</cwd></environment_context>`);
  add('world_state', { full: true });
  add('turn_context', { cwd, model: 'gpt-5' });
  event('thread_settings_applied');
  message('user', 'Add a login route, please.');
  event('item_completed', { item: { type: 'UserMessage' } });
  item('reasoning', { summary: [{ type: 'summary_text', text: 'The routes come first.' }], encrypted_content: 'x' });
  message('assistant', 'I look at the routes.');
  item('function_call', { name: 'exec_command', arguments: '{"cmd":"cat routes.ts"}', call_id: 'call_1' });
  item('custom_tool_call', { name: 'apply_patch', input: '*** Begin Patch', call_id: 'call_2' });
  usage();
  event('item_completed', { item: { type: 'CommandExecution' } });
  item('function_call_output', { call_id: 'call_1', output: 'export const routes = [];' });
  item('custom_tool_call_output', { call_id: 'call_2', output: '{"output":"Success","metadata":{"exit_code":0}}' });
  event('token_count');
  item('web_search_call', { action: { type: 'search', query: 'login' } });
  item('reasoning', { summary: [], encrypted_content: 'x' });
  message('assistant', 'The route is there.');
  usage();
  event('task_complete', { last_agent_message: 'The route is there.' });
  event('task_started');
  message('user', 'Remove everything.');
  item('function_call', { name: 'exec_command', arguments: '{"cmd":"rm a.ts"}', call_id: 'call_3' });
  item('function_call_output', {
    call_id: 'call_3',
    output: 'Command blocked by PreToolUse hook: no. Command: rm a.ts',
  });
  add('compacted', { message: 'Ada wants a login route.' });
  item('local_shell_call', { action: { command: ['sleep', '9'] }, call_id: 'call_4' });
  message('user', '<turn_aborted>\nThe user interrupted the previous turn on purpose.</turn_aborted>');
  event('turn_aborted', { reason: 'interrupted' });
  event('thread_rolled_back', { num_turns: 1 });
  event('task_started');
  message('user', 'Again.');
  event('task_complete', { error: { message: 'unexpected status 529' } });
  return lines;
}

function gemini(): Line[] {
  const { id, time } = openCounter();
  const lines: Line[] = [];
  const add = (line: Line): void => void lines.push(line);
  const header = () =>
    add({ sessionId: session, projectHash: 'x', startTime: time(), lastUpdated: time(), kind: 'main' });
  const context = `<session_context>\n- **Workspace Directories:**\n  - ${cwd}\n</session_context>`;
  const opening = { id: id(), timestamp: time(), type: 'user', content: [{ text: context }] };
  const user = (content: unknown) => {
    const messageId = id();
    add({ id: messageId, timestamp: time(), type: 'user', content });
    add({ $set: { lastUpdated: time() } });
    return messageId;
  };
  const tokens = { input: 500, output: 20, cached: 400, thoughts: 5, tool: 0, total: 525 };
  const answer = (content: string, more: Line = {}): Line => {
    const base = {
      id: id(),
      timestamp: time(),
      type: 'gemini',
      content,
      thoughts: [],
      tokens,
      model: 'gemini-2.5-flash',
    };
    add({ ...base, ...more });
    return base;
  };
  const response = (callId: string, given: Line) => ({
    functionResponse: { id: callId, name: 'read_file', response: given },
  });
  const called = (callId: string, status: string, given: Line) => ({
    toolCalls: [
      { id: callId, name: 'read_file', args: { path: 'routes.ts' }, result: [response(callId, given)], status },
    ],
  });
  header();
  add({ $set: { messages: [opening], lastUpdated: time() } });
  user([{ text: 'Add a login route, please.' }]);
  const first = answer('I look at the routes.', { thoughts: [{ subject: 'Routes', description: 'They come first.' }] });
  const thoughts = [{ subject: 'Routes', description: 'They come first.' }];
  add({ ...first, thoughts, ...called('read_file_1', 'success', { output: 'export const routes = [];' }) });
  user([response('read_file_1', { output: 'export const routes = [];' })]);
  answer('The route is there.');
  header();
  add({ $set: { sessionId: session } });
  add({
    $set: { messages: [opening, { ...first, content: [{ text: 'I look at the routes.' }] }], lastUpdated: time() },
  });
  const second = user([{ text: 'Remove it.' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }]);
  const denied = answer('');
  add({ ...denied, ...called('read_file_2', 'error', { error: 'Tool execution blocked: no' }) });
  user([response('read_file_2', { error: 'Tool execution blocked: no' })]);
  answer('I may not.');
  add({ $rewindTo: second });
  user([{ text: 'Show it.' }]);
  answer('Here it is.');
  add({ id: id(), timestamp: time(), type: 'info', content: 'Request cancelled.' });
  add({ id: id(), timestamp: time(), type: 'error', content: 'API error: 529' });
  return lines;
}

function opencode(): Line[] {
  const { id, ms } = openCounter();
  const lines: Line[] = [
    {
      session: {
        id: 'ses_1',
        directory: cwd,
        version: '1.18.33',
        title: 'Login route',
        parentID: 'ses_0',
        time: { created: ms() },
      },
    },
  ];
  const part = (type: string, more: Line = {}): Line => ({ type, id: id('prt_'), ...more });
  const user = (...parts: Line[]): string => {
    const messageId = id('msg_');
    lines.push({ info: { id: messageId, role: 'user', sessionID: 'ses_1', time: { created: ms() } }, parts });
    return messageId;
  };
  const tokens = { total: 525, input: 90, output: 25, reasoning: 5, cache: { read: 400, write: 10 } };
  const answer = (parentID: string, parts: Line[], more: Line = {}): void => {
    const model = { modelID: 'sonnet', providerID: 'anthropic', cost: 0.01, tokens, path: { cwd, root: cwd } };
    const info = { id: id('msg_'), parentID, role: 'assistant', sessionID: 'ses_1', time: { created: ms() }, ...model };
    lines.push({ info: { ...info, ...more }, parts: [part('step-start'), ...parts, part('step-finish')] });
  };
  const tool = (callID: string, state: Line) =>
    part('tool', { callID, tool: 'write', state: { input: { path: 'a' }, ...state } });
  const text = (said: string, more: Line = {}) => part('text', { text: said, ...more });
  const first = user(text('Add a login route, please.'), text('a.ts is open', { synthetic: true }), part('agent'));
  answer(first, [
    part('reasoning', { text: 'The routes come first.' }),
    text('I write it.'),
    tool('call_1', { status: 'completed', output: 'Done.' }),
    tool('call_2', { status: 'error', error: 'The user rejected permission to use this specific tool call.' }),
    part('patch', { files: ['a'] }),
    part('snapshot'),
  ]);
  answer(first, [text('The route is there.'), part('retry')]);
  const second = user(
    text('And this?'),
    part('file', { mime: 'image/png', filename: 'a.png', url: 'data:image/png;base64,AAAA' }),
  );
  answer(second, [text('It is the'), tool('call_3', { status: 'running' })], {
    error: { name: 'MessageAbortedError', data: { message: 'aborted' } },
  });
  const third = user(part('compaction'), part('subtask'));
  answer(third, [text('Ada wants a login route.')], { summary: true });
  answer(user(text('Again.')), [], { error: { name: 'APIError', data: { message: 'overloaded' } } });
  return lines;
}

function copilot(): Line[] {
  const { id, time } = openCounter();
  const tree = openTree((line, parentId) => ({ ...line, id: id(), timestamp: time(), parentId }), 'id');
  const add = (type: string, data: Line, more: Line = {}) => tree.add({ type, data, ...more });
  const usage = (apiCallId: string) => {
    const counts = { inputTokens: 500, outputTokens: 20, cacheReadTokens: 400, cost: 0 };
    add('session.usage_record', { usage: { model: 'gpt-5', apiCallId, ...counts } });
  };
  const answer = (apiCallId: string, more: Line, agent: Line = {}) =>
    add(
      'assistant.message',
      { messageId: `m-${apiCallId}`, apiCallId, model: 'gpt-5', toolRequests: [], ...more },
      agent,
    );
  add('session.start', { sessionId: session, copilotVersion: '1.0.102', startTime: time(), context: { cwd } });
  add('hook.start', { hookType: 'sessionStart' });
  add('hook.end', { hookType: 'sessionStart' });
  add('user.message', { content: 'Add a login route, please.', transformedContent: 'x' });
  add('system.message', { role: 'system', content: 'You are an assistant.' });
  add('assistant.turn_start', { turnId: '0' });
  usage('a');
  const toolRequests = [
    { toolCallId: 'call_1', name: 'view', arguments: { path: 'routes.ts' } },
    { toolCallId: 'call_2', name: 'create', arguments: { path: 'a.ts' } },
  ];
  answer('a', { content: 'I look at the routes.', reasoningText: 'They come first.', toolRequests });
  add('tool.execution_start', { toolCallId: 'call_1' });
  add('tool.execution_complete', {
    toolCallId: 'call_1',
    success: true,
    result: { content: 'export const routes = [];' },
  });
  add('tool.execution_complete', {
    toolCallId: 'call_2',
    success: false,
    error: { message: 'Denied', code: 'denied' },
  });
  add('assistant.turn_end', { turnId: '0' });
  add('subagent.started', { agentName: 'explore', toolCallId: 'call_1' });
  answer('s', { content: 'There are two tests.' }, { agentId: 'explore-1' });
  add('subagent.completed', { agentName: 'explore', toolCallId: 'call_1' });
  usage('b');
  answer('b', { content: 'The route is there.' });
  add('assistant.turn_end', { turnId: '1' });
  add('session.resume', { sessionId: session });
  add('user.message', { content: 'Tell me a story.' });
  add('assistant.turn_end', { turnId: '2' });
  add('abort', { reason: 'user_abort' });
  add('session.compaction_start', {});
  add('session.compaction_complete', { summaryContent: 'Ada wants a login route.' });
  add('session.error', { message: 'The endpoint is overloaded.' });
  add('session.shutdown', {});
  return tree.lines;
}

function qwen(): Line[] {
  const { id, time } = openCounter();
  const base = { sessionId: session, cwd, version: '0.15.10', gitBranch: 'main' };
  const tree = openTree(
    (line, parentUuid) => ({ uuid: id(), parentUuid, ...base, timestamp: time(), ...line }),
    'uuid',
  );
  const user = (text: string, parent?: string | null) =>
    tree.add({ type: 'user', message: { role: 'user', parts: [{ text }] } }, parent);
  const usage = { promptTokenCount: 500, candidatesTokenCount: 20, totalTokenCount: 520, cachedContentTokenCount: 400 };
  const answer = (...parts: Line[]) =>
    tree.add({ type: 'assistant', model: 'qwen3', message: { role: 'model', parts }, usageMetadata: usage });
  const result = (callId: string, response: Line, more: Line) => {
    const message = { role: 'user', parts: [{ functionResponse: { id: callId, name: 'write_file', response } }] };
    return tree.add({ type: 'tool_result', message, toolCallResult: { callId, ...more } });
  };
  const system = (subtype: string) => tree.add({ type: 'system', subtype, systemPayload: {} });
  user('Add a login route, please.');
  for (const subtype of ['attribution_snapshot', 'ui_telemetry', 'slash_command', 'at_command']) system(subtype);
  answer(
    { text: 'The routes come first.', thought: true },
    { text: 'I write it.' },
    { functionCall: { id: 'call_1', name: 'write_file', args: { file_path: 'a.ts' } } },
  );
  result('call_1', { output: 'Written.' }, { status: 'success' });
  const before = answer({ functionCall: { id: 'call_2', name: 'write_file', args: { file_path: 'b.ts' } } });
  result('call_2', { error: 'not in the plan' }, { status: 'error', errorType: 'execution_denied' });
  answer({ text: 'I may not.' });
  user('And now?');
  answer({ text: 'Nothing.' });
  user('What did you do?', before);
  return tree.lines;
}

function pi(): Line[] {
  const { id, time } = openCounter();
  const tree = openTree((line, parentId) => ({ ...line, id: id().slice(0, 8), parentId, timestamp: time() }), 'id');
  const add = (type: string, more: Line = {}, parent?: string | null) => tree.add({ type, ...more }, parent);
  const message = (role: string, more: Line, parent?: string | null) =>
    add('message', { message: { role, ...more } }, parent);
  const cost = { input: 0.01, output: 0.01, total: 0.02 };
  const usage = { input: 90, output: 25, cacheRead: 400, cacheWrite: 10, totalTokens: 525, cost };
  const answer = (content: Line[], more: Line = {}) =>
    message('assistant', { content, provider: 'anthropic', model: 'sonnet', usage, stopReason: 'stop', ...more });
  const text = (said: string) => ({ type: 'text', text: said });
  tree.lines.push({ type: 'session', version: 3, id: session, timestamp: time(), cwd });
  add('model_change', { provider: 'anthropic', modelId: 'sonnet' });
  add('thinking_level_change', { thinkingLevel: 'off' });
  message('user', { content: [text('Add a login route, please.')] });
  const call = { type: 'toolCall', id: 'call_1', name: 'read', arguments: { path: 'routes.ts' } };
  answer([{ type: 'thinking', thinking: 'The routes come first.' }, text('I look at the routes.'), call]);
  message('toolResult', {
    toolCallId: 'call_1',
    toolName: 'read',
    content: [text('export const routes = [];')],
    isError: false,
  });
  const before = answer([text('The route is there.')]);
  message('user', { content: 'Tell me a story.' });
  answer([text('Once upon')], { stopReason: 'aborted' });
  message('bashExecution', { command: 'npm test', output: 'ok' });
  add('compaction', { summary: 'Ada wants a login route.', firstKeptEntryId: before });
  message('user', { content: 'Remove it.' }, before);
  answer([], { stopReason: 'error', errorMessage: 'overloaded' });
  add('branch_summary', { fromId: before, summary: 'A story was begun.' });
  for (const type of ['label', 'custom']) add(type);
  add('custom_message', { content: 'A reminder.' });
  add('session_info', { name: 'Login route' });
  return tree.lines;
}

function openTree(toLine: (line: Line, parent: string | null) => Line, key: string): Tree {
  const lines: Line[] = [];
  let last: string | null = null;
  return {
    lines,
    add(line, parent = last) {
      const whole = toLine(line, parent);
      lines.push(whole);
      last = String(whole[key]);
      return last;
    },
  };
}

/** By the path below `fixtures/agents`. */
/** In the form that descriptions of the program give; it has neither IDs nor tokens. */
function antigravity(): Line[] {
  const { id, time } = openCounter();
  const lines: Line[] = [];
  const step = (source: string, type: string, more: Line = {}): void => {
    id();
    // After the first result, one number is always missing.
    const index = lines.length + Number(lines.length > 3);
    const at = time().replace('.000Z', 'Z');
    lines.push({ step_index: index, source, type, status: 'DONE', created_at: at, ...more });
  };
  const user = (text: string, more = '') =>
    step('USER_EXPLICIT', 'USER_INPUT', {
      content: `<USER_REQUEST>\n${text}\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nIt is noon.\n</ADDITIONAL_METADATA>${more}`,
    });
  const chosen =
    '\n<USER_SETTINGS_CHANGE>\nThe user changed setting `Model Selection` from None to Gemini 3.5 Flash (High). Go on.\n</USER_SETTINGS_CHANGE>';
  const answer = (content: string, ...calls: [name: string, args: Line][]) =>
    step('MODEL', 'PLANNER_RESPONSE', {
      ...(content === '' ? {} : { content }),
      ...(calls.length === 0 ? {} : { tool_calls: calls.map(([name, args]) => ({ name, args })) }),
    });
  user('Add a login route, please.', chosen);
  step('SYSTEM', 'CONVERSATION_HISTORY');
  step('MODEL', 'PLANNER_RESPONSE', {
    thinking: 'The routes come first.',
    tool_calls: [{ name: 'view_file', args: { AbsolutePath: `${cwd}/routes.ts`, toolAction: 'Reading' } }],
  });
  step('MODEL', 'VIEW_FILE', { content: 'Total Lines: 1\n1: export const routes = [];' });
  answer('I test it, and look around.', ['run_command', { CommandLine: 'npm test', Cwd: cwd }], ['list_dir', {}]);
  step('MODEL', 'RUN_COMMAND', { content: '\n\t\t\tThe command failed with exit code: 1\n\t\t\tOutput:\n\t\t\tno' });
  step('MODEL', 'LIST_DIRECTORY', {
    status: 'ERROR',
    content: 'Encountered error in step execution: no such directory',
  });
  answer('The route is there.');
  step('SYSTEM', 'SYSTEM_MESSAGE', { content: '<SYSTEM_MESSAGE>\nA server has started.\n</SYSTEM_MESSAGE>' });
  step('SYSTEM', 'CHECKPOINT', { content: '{{ CHECKPOINT 1 }}\nThe earlier parts have been truncated.' });
  user('Show it.');
  answer('Here it is.');
  return lines;
}

export const agentFixtures: Record<string, Line[]> = {
  'claude-code/2.1.197/session.jsonl': claude('2.1.197'),
  'claude-code/2.1.330/session.jsonl': claude('2.1.330'),
  'codex/0.169.0/session.jsonl': codex(),
  'gemini/0.61.0/session.jsonl': gemini(),
  'opencode/1.18.33/session.jsonl': opencode(),
  'copilot/1.0.102/session.jsonl': copilot(),
  'qwen/0.15.10/session.jsonl': qwen(),
  'pi/0.73.1/session.jsonl': pi(),
  'antigravity/1.1.5/session.jsonl': antigravity(),
  'claude-code/2.1.197/plans.jsonl': claudePlans('2.1.197'),
  'claude-code/2.1.330/plans.jsonl': claudePlans('2.1.330'),
  'codex/0.169.0/plans.jsonl': codexPlans(),
  'gemini/0.61.0/plans.jsonl': geminiPlans(),
  'qwen/0.15.10/plans.jsonl': qwenPlans(),
};
