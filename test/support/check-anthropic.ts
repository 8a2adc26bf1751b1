/** The rules for Anthropic's messages. */
import { findNameFault, findTextFault, isObject, isWellFormedValue, toList } from './check-values.ts';

type Fields = Record<string, unknown>;

interface Walk {
  /** Calls in the previous answer that have no result yet. */
  open: Set<string>;
  /** All ids of calls so far. */
  ids: Set<string>;
  last: unknown;
}

/** One sentence for each violation. An answer at the end is allowed. */
export function checkAnthropic(messages: unknown): string[] {
  if (!Array.isArray(messages)) return ['The messages are not an array.'];
  const walk: Walk = { open: new Set(), ids: new Set(), last: 'assistant' };
  const faults = messages.flatMap((message: unknown, index) =>
    checkMessage(walk, message, index).map((fault) => `Message ${index}: ${fault}`),
  );
  const left = [...walk.open].map((id) => `The end: the call ${id} has no result.`);
  return [...faults, ...left, ...checkEnd(messages.at(-1), messages.length - 1)];
}

function checkMessage(walk: Walk, message: unknown, index: number): string[] {
  if (!isObject(message)) return ['it is not an object.'];
  const { role, content } = message;
  const { last } = walk;
  walk.last = role;
  if (role !== 'user' && role !== 'assistant') return ['its role is not user or assistant.'];
  const alternates = role !== last;
  const order = index === 0 ? 'the assistant speaks first.' : `two messages of the ${role} follow each other.`;
  return [...toList(!alternates && order), ...checkContent(walk, role, content)];
}

function checkContent(walk: Walk, role: 'user' | 'assistant', content: unknown): string[] {
  const blocks: unknown = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  if (!Array.isArray(blocks) || blocks.length === 0) return ['its content is not a text, and not an array of blocks.'];
  const kinds = blocks.map((block: unknown) => (isObject(block) ? block['type'] : undefined));
  const late = role === 'user' && kinds.lastIndexOf('tool_result') > kinds.findIndex((kind) => kind !== 'tool_result');
  const hasOther = kinds.some((kind) => kind !== 'tool_result');
  const faults = blocks.flatMap((block: unknown) =>
    isObject(block) ? checkBlock(walk, role, block) : ['a block is not an object.'],
  );
  return [
    ...faults,
    ...toList(late && hasOther && 'a tool_result stands behind another block.'),
    ...checkAnswered(walk, role, kinds),
  ];
}

function checkAnswered(walk: Walk, role: 'user' | 'assistant', kinds: unknown[]): string[] {
  if (role === 'assistant') return [];
  const missing = [...walk.open].map((id) => `the call ${id} of the message before has no result in it.`);
  walk.open.clear();
  return kinds.length === 0 ? [] : missing;
}

function checkBlock(walk: Walk, role: 'user' | 'assistant', block: Fields): string[] {
  const { type, text } = block;
  if (type === 'text') return toList(findTextFault(text, 'a block of text'));
  if (type === 'tool_use' && role === 'assistant') return checkCall(walk, block);
  if (type === 'tool_result' && role === 'user') return checkResult(walk, block);
  if (type === 'image' && role === 'user') return toList(!isObject(block['source']) && 'an image has no source.');
  return [`a block of the ${role} has the type ${String(type)}.`];
}

function checkCall(walk: Walk, { id, name, input }: Fields): string[] {
  const isId = typeof id === 'string' && /^[a-zA-Z0-9_-]+$/.test(id);
  const isTaken = isId && walk.ids.has(id);
  if (isId) walk.ids.add(id);
  if (isId) walk.open.add(id);
  return toList(
    !isId && 'the id of a tool_use is not of letters, digits, _ and -.',
    isTaken && `two blocks of tool_use have the id ${String(id)}.`,
    findNameFault(name, 'the name of a tool_use'),
    !isObject(input) && 'the input of a tool_use is not an object.',
    !isWellFormedValue(input) && 'the input of a tool_use holds half a surrogate pair.',
  );
}

function checkResult(walk: Walk, { tool_use_id: id, content, is_error: isError }: Fields): string[] {
  const isOpen = typeof id === 'string' && walk.open.delete(id);
  return toList(
    !isOpen && 'a tool_result answers no tool_use of the message before that still waits.',
    isError !== undefined && typeof isError !== 'boolean' && 'the is_error of a tool_result is not true or false.',
    !Array.isArray(content) && findTextFault(content, 'the content of a tool_result'),
    Array.isArray(content) && content.length === 0 && 'the content of a tool_result is empty.',
    !isWellFormedValue(content) && 'the content of a tool_result holds half a surrogate pair.',
  );
}

/** An answer at the end is the beginning of the model's next one. */
function checkEnd(message: unknown, index: number): string[] {
  if (!isObject(message) || message['role'] !== 'assistant') return [];
  const { content } = message;
  const block: unknown = Array.isArray(content) ? content.at(-1) : { text: content };
  const text = isObject(block) ? block['text'] : undefined;
  const isBad = typeof text === 'string' && /[\s\p{Cc}]$/u.test(text);
  return isBad ? [`Message ${index}: the answer at the end ends in white space.`] : [];
}
