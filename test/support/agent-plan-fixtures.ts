/** Logs of sessions in plan mode, in each agent's format: a refused plan, an approved one, and the work after it. */
type Line = Record<string, unknown>;

const cwd = '/home/ada/shop';
const session = '0190f5fe-0000-7000-8000-00000000abcd';

export const firstPlan = '# Add a login route\n\n1. Add the route.\n';
export const secondPlan = '# Add a login route\n\n1. Add the route.\n2. Test it.\n';
const [added, testedToo] = ['1. Add the route.\n', '1. Add the route.\n2. Test it.\n'];

function openTimes() {
  let count = 0;
  return () => {
    count += 1;
    return { count, timestamp: new Date(Date.UTC(2026, 0, 24, 10, 0, count)).toISOString() };
  };
}

/** 2.1.330 puts the plan in the call that submits it; in this log of 2.1.197, the written file has it. */
export function claudePlans(version: '2.1.197' | '2.1.330'): Line[] {
  const next = openTimes();
  const lines: Line[] = [];
  const isNew = version === '2.1.330';
  const path = '/home/ada/.claude/plans/a-login-route.md';
  let last: string | null = null;
  const add = (type: string, more: Line): void => {
    const { count, timestamp } = next();
    const uuid = `${String(count).padStart(8, '0')}-0000-4000-8000-000000000000`;
    const base = { parentUuid: last, isSidechain: false, userType: 'external', cwd, sessionId: session, version };
    lines.push({ ...base, gitBranch: 'main', type, uuid, timestamp, ...more });
    last = uuid;
  };
  const user = (content: unknown, more: Line = {}) => add('user', { message: { role: 'user', content }, ...more });
  const assistant = (id: string, block: Line) =>
    add('assistant', {
      message: {
        id,
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        content: [block],
        usage: { input_tokens: 12, output_tokens: 9 },
      },
    });
  const call = (id: string, name: string, input: Line) => ({ type: 'tool_use', id, name, input });
  const result = (id: string, content: string, toolUseResult: unknown, isError = false) =>
    user([{ type: 'tool_result', tool_use_id: id, content, ...(isError ? { is_error: true } : {}) }], {
      toolUseResult,
    });
  const handIn = (plan: string) => (isNew ? { plan, planFilePath: path } : {});

  user('Add a login route, please.', { permissionMode: 'plan' });
  add('attachment', { attachment: { type: 'plan_mode', reminderType: 'full', planFilePath: path, planExists: false } });
  assistant('msg_1', call('toolu_1', 'Write', { file_path: path, content: firstPlan }));
  result('toolu_1', 'File created successfully', { type: 'create', filePath: path, content: firstPlan });
  assistant('msg_2', { type: 'thinking', thinking: 'That is all.', signature: 'x' });
  assistant('msg_2', { type: 'text', text: 'This is my plan.' });
  assistant('msg_2', call('toolu_2', 'ExitPlanMode', handIn(firstPlan)));
  result('toolu_2', 'Line 3: and the tests?', 'Error: PreToolUse:ExitPlanMode hook: Line 3: and the tests?', true);
  const edit = { file_path: path, old_string: added, new_string: testedToo };
  assistant('msg_3', call('toolu_3', 'Edit', edit));
  result('toolu_3', 'The file has been updated', {
    filePath: path,
    oldString: added,
    newString: testedToo,
    originalFile: firstPlan,
    replaceAll: false,
  });
  assistant('msg_4', call('toolu_4', 'ExitPlanMode', handIn(secondPlan)));
  const approved = { plan: isNew ? secondPlan : null, isAgent: false, filePath: path };
  result('toolu_4', 'User has approved your plan.', approved);
  add('attachment', { attachment: { type: 'plan_mode_exit', planFilePath: path, planExists: true } });
  assistant('msg_5', call('toolu_5', 'Write', { file_path: `${cwd}/routes.ts`, content: 'login();\n' }));
  const written = { type: 'create', filePath: `${cwd}/routes.ts`, content: 'login();\n' };
  result('toolu_5', 'File created successfully', written);
  assistant('msg_6', { type: 'text', text: 'The route is there.' });
  return lines;
}

/** The plan's item comes before the answer with its tags. */
export function codexPlans(): Line[] {
  const next = openTimes();
  const lines: Line[] = [];
  const add = (type: string, payload: Line): void => {
    lines.push({ timestamp: next().timestamp, ordinal: lines.length, type, payload });
  };
  const event = (type: string, more: Line = {}) => add('event_msg', { type, ...more });
  const message = (id: string, role: string, text: string) => {
    const content = [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }];
    add('response_item', { type: 'message', id, role, content });
  };
  const plans = (id: string, text: string): void => {
    event('item_completed', { item: { type: 'Plan', id: `${id}-plan`, text } });
    message(`${id}-answer`, 'assistant', `Here it is.\n<proposed_plan>\n${text}</proposed_plan>\n`);
    event('task_complete', { last_agent_message: null });
  };
  const { timestamp } = next();
  add('session_meta', { id: session, timestamp, cwd, cli_version: '0.169.0', source: 'cli', model_provider: 'openai' });
  add('turn_context', { cwd, model: 'gpt-5', collaboration_mode: { mode: 'plan' } });
  event('task_started');
  message('it_1', 'user', 'Add a login route, please.');
  plans('turn_1', firstPlan);
  event('task_started');
  message('it_2', 'user', 'And the tests?');
  plans('turn_2', secondPlan);
  event('task_started');
  message('it_3', 'user', 'Implement the plan.');
  message('it_4', 'assistant', 'The route is there.');
  event('task_complete', { last_agent_message: 'The route is there.' });
  return lines;
}

/** The plan is submitted by the name of its file, which the model has written before. */
export function geminiPlans(): Line[] {
  const next = openTimes();
  const lines: Line[] = [];
  const path = '/home/ada/.gemini/tmp/shop/plans/login.md';
  const tokens = { input: 500, output: 20, cached: 0, thoughts: 0, tool: 0, total: 520 };
  const base = (type: string) => {
    const { count, timestamp } = next();
    return { id: `message-${count}`, timestamp, type };
  };
  const answer = (content: string, more: Line = {}): void => {
    lines.push({ ...base('gemini'), content, thoughts: [], tokens, model: 'gemini-2.5-flash', ...more });
  };
  const called = (id: string, name: string, args: Line, output: string) => {
    const result = [{ functionResponse: { id, name, response: { output } } }];
    return { toolCalls: [{ id, name, args, result, status: 'success' }] };
  };
  const { timestamp } = next();
  lines.push({ sessionId: session, projectHash: 'x', startTime: timestamp, lastUpdated: timestamp, kind: 'main' });
  lines.push({ $set: { directories: [cwd] } });
  lines.push({ ...base('user'), content: [{ text: 'Add a login route, please.' }] });
  answer('', called('write_file_1', 'write_file', { file_path: path, content: firstPlan }, 'Created.'));
  const handIn = { plan_filename: 'login.md' };
  answer('This is my plan.', called('exit_plan_mode_1', 'exit_plan_mode', handIn, 'Plan rejected. And the tests?'));
  answer('', called('replace_1', 'replace', { file_path: path, old_string: added, new_string: testedToo }, 'Changed.'));
  answer('', called('exit_plan_mode_2', 'exit_plan_mode', handIn, 'Plan approved.'));
  answer('The route is there.');
  return lines;
}

/** The plan is in the call. */
export function qwenPlans(): Line[] {
  const next = openTimes();
  const lines: Line[] = [];
  let last: string | null = null;
  const add = (type: string, more: Line): void => {
    const { count, timestamp } = next();
    const uuid = `line-${count}`;
    lines.push({ uuid, parentUuid: last, sessionId: session, timestamp, type, cwd, version: '0.15.10', ...more });
    last = uuid;
  };
  const answer = (...parts: Line[]) =>
    add('assistant', {
      model: 'qwen3-coder',
      message: { role: 'model', parts },
      usageMetadata: { promptTokenCount: 500, candidatesTokenCount: 20, totalTokenCount: 520 },
    });
  const handIn = (id: string, plan: string) => ({ functionCall: { id, name: 'exit_plan_mode', args: { plan } } });
  const result = (id: string, output: string) =>
    add('tool_result', {
      message: { role: 'user', parts: [{ functionResponse: { id, name: 'exit_plan_mode', response: { output } } }] },
      toolCallResult: { callId: id, status: 'success' },
    });
  add('user', { message: { role: 'user', parts: [{ text: 'Add a login route, please.' }] } });
  answer({ text: 'This is my plan.' }, handIn('call_1', firstPlan));
  result('call_1', 'Plan execution was not approved. Remaining in plan mode.');
  answer(handIn('call_2', secondPlan));
  result('call_2', 'User approved.');
  answer({ text: 'The route is there.' });
  return lines;
}
