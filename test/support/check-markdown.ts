/** The rules for a conversation as Markdown: alternating speakers, calls with their results, and nothing outside. */

interface Walk {
  /** The open fence; null if there is none. */
  fence: string | null;
  /** The current speaker. */
  who: string | null;
  /** A call still needs its result. */
  wants: 'result' | null;
  /** Counts the texts below the last heading. */
  said: number;
}

/** One sentence for each violation. */
export function checkMarkdown(text: unknown): string[] {
  if (typeof text !== 'string') return ['The conversation is not a text.'];
  if (text === '') return [];
  const walk: Walk = { fence: null, who: null, wants: null, said: 1 };
  const lines = text.split(/\r\n|\r|\n/);
  const end = lines.pop() === '' ? [] : ['The end: the last line is not complete.'];
  const faults = lines.flatMap((line, index) => checkLine(walk, line).map((fault) => `Line ${index + 1}: ${fault}`));
  return [...faults, ...end, ...checkEnd(walk)];
}

function checkEnd({ fence, wants, said }: Walk): string[] {
  return [
    ...(fence === null ? [] : ['The end: a fence is open.']),
    ...(wants === null ? [] : ['The end: a call has no result.']),
    ...(said > 0 ? [] : ['The end: nothing stands below the last heading.']),
  ];
}

function checkLine(walk: Walk, line: string): string[] {
  if (walk.fence !== null) return checkInFence(walk, line);
  const fence = /^(`{3,})(?:json|text)$/.exec(line)?.[1];
  if (fence !== undefined) return openFence(walk, fence);
  if (line === '') return [];
  if (line === '>' || line.startsWith('> ')) return checkQuote(walk);
  return checkHeading(walk, line);
}

function checkInFence(walk: Walk, line: string): string[] {
  if (line === walk.fence) walk.fence = null;
  return [];
}

function openFence(walk: Walk, fence: string): string[] {
  walk.fence = fence;
  walk.said += 1;
  return walk.who === 'Assistant' ? [] : ['a fence stands below no answer.'];
}

function checkQuote(walk: Walk): string[] {
  walk.said += 1;
  const faults = walk.who === null ? ['nobody says it.'] : [];
  return walk.wants === null ? faults : [...faults, 'it stands between a call and its result.'];
}

function checkHeading(walk: Walk, line: string): string[] {
  const who = /^## (User|Assistant)(?:, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC)?$/.exec(line)?.[1];
  if (who !== undefined) return checkSpeaker(walk, who);
  if (line.startsWith('### Call of ')) return checkCall(walk);
  if (/^### (?:Result|No result|Error(?: \([a-z]+\))?)$/.test(line)) return checkResult(walk);
  return ['it is no heading, no quote, and in no fence.'];
}

function checkSpeaker(walk: Walk, who: string): string[] {
  const { who: before, said, wants } = walk;
  Object.assign(walk, { who, said: 0, wants: null });
  return [
    ...(before === who ? [`two parts of the ${who.toLowerCase()} follow each other.`] : []),
    ...(said > 0 ? [] : ['nothing stands below the heading before it.']),
    ...(wants === null ? [] : ['a call before it has no result.']),
  ];
}

function checkCall(walk: Walk): string[] {
  const { wants, who } = walk;
  walk.wants = 'result';
  return [
    ...(who === 'Assistant' ? [] : ['a call that is not of the assistant.']),
    ...(wants === null ? [] : ['a call before it has no result.']),
  ];
}

function checkResult(walk: Walk): string[] {
  const { wants } = walk;
  walk.wants = null;
  return wants === 'result' ? [] : ['a result without a call.'];
}
