/** The rules for OpenAI's chat completions, and for compatible servers: the strictest of each counts. */
import { findNameFault, findTextFault, isObject, isWellFormedValue, toList } from './check-values.ts';
import { parseJson } from '../../src/session/text/parse-object.ts';

type Message = Record<string, unknown>;

interface Walk {
  /** Calls in the last answer that have no result yet. */
  open: Set<string>;
  /** All ids of calls so far. */
  ids: Set<string>;
  /** The role of the last message that is neither the system's nor a tool's. */
  last: string | null;
}

/** One sentence for each violation. A leading system message is allowed, and an answer at the end. */
export function checkOpenai(messages: unknown): string[] {
  if (!Array.isArray(messages)) return ['The messages are not an array.'];
  const walk: Walk = { open: new Set(), ids: new Set(), last: null };
  const faults = messages.flatMap((message: unknown, index) =>
    checkMessage(walk, message, index).map((fault) => `Message ${index}: ${fault}`),
  );
  return [...faults, ...[...walk.open].map((id) => `The end: the call ${id} has no result.`)];
}

function checkMessage(walk: Walk, message: unknown, index: number): string[] {
  if (!isObject(message)) return ['it is not an object.'];
  const { role } = message;
  if (role === 'tool') return checkTool(walk, message);
  const faults = [...walk.open].map((id) => `the call ${id} has no result before it.`);
  walk.open.clear();
  if (role === 'system') return [...faults, ...checkSystem(message, index)];
  if (role === 'user') return [...faults, ...checkTurn(walk, role), ...checkUser(message)];
  if (role === 'assistant') return [...faults, ...checkTurn(walk, role), ...checkAssistant(walk, message)];
  return [...faults, 'its role is not system, user, assistant or tool.'];
}

function checkSystem({ content }: Message, index: number): string[] {
  return toList(index > 0 && 'the system speaks after the first message.', findTextFault(content, 'its content'));
}

function checkTurn(walk: Walk, role: 'user' | 'assistant'): string[] {
  const { last } = walk;
  const afterTools = role === 'assistant' && last === 'calls';
  walk.last = role;
  if (last === null && role === 'assistant') return ['the assistant speaks first.'];
  return last === role && !afterTools ? [`two messages of the ${role} follow each other.`] : [];
}

function checkUser(message: Message): string[] {
  return toList(
    'tool_calls' in message && 'the user has tool_calls.',
    'tool_call_id' in message && 'the user has a tool_call_id.',
    findTextFault(message['content'], 'its content'),
  );
}

function checkAssistant(walk: Walk, message: Message): string[] {
  const { content, tool_calls: calls } = message;
  const hasCalls = 'tool_calls' in message;
  if (hasCalls) walk.last = 'calls';
  return [
    ...toList(
      'tool_call_id' in message && 'the assistant has a tool_call_id.',
      content === null && !hasCalls && 'its content is null and it has no tool_calls.',
      content !== null && findTextFault(content, 'its content'),
    ),
    ...(hasCalls ? checkCalls(walk, calls) : []),
  ];
}

function checkCalls(walk: Walk, calls: unknown): string[] {
  if (!Array.isArray(calls) || calls.length === 0) return ['its tool_calls are not an array of calls.'];
  return calls.flatMap((call: unknown) => (isObject(call) ? checkCall(walk, call) : ['a call is not an object.']));
}

function checkCall(walk: Walk, { id, type, function: called }: Message): string[] {
  const isId = typeof id === 'string' && id !== '' && id.length <= 40;
  const isTaken = isId && walk.ids.has(id);
  if (isId) walk.ids.add(id);
  if (isId) walk.open.add(id);
  return [
    ...toList(
      !isId && 'the id of a call is not a text of 1 to 40 characters.',
      isId && findTextFault(id, 'the id of a call'),
      isTaken && `two calls have the id ${id}.`,
      type !== 'function' && 'the type of a call is not function.',
    ),
    ...(isObject(called) ? checkFunction(called) : ['a call has no function.']),
  ];
}

function checkFunction({ name, arguments: json }: Message): string[] {
  const value = typeof json === 'string' ? parseJson(json) : undefined;
  return toList(
    findNameFault(name, 'the name of a function'),
    typeof json !== 'string' && 'the arguments of a call are not a text.',
    typeof json === 'string' && !isObject(value) && 'the arguments of a call are not the JSON of an object.',
    !isWellFormedValue([json, value]) && 'the arguments of a call hold half a surrogate pair.',
  );
}

function checkTool(walk: Walk, { tool_call_id: id, content }: Message): string[] {
  const isOpen = typeof id === 'string' && walk.open.delete(id);
  return toList(
    !isOpen && 'it answers no call of the answer before it that still waits.',
    findTextFault(content, 'its content'),
  );
}
