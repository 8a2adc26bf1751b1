/** Reads the sections that are lists, fenced or not: Context Vault and Memos. */
import { findActionType } from '../actions/actions.ts';
import { addNote, addProblem, excerpt, type Reading, type Section } from './parse-outline.ts';
import { readItem } from './parse-parameters.ts';
import { readWrittenPath, refuseListRemark, unwrapPath } from '../../session/paths/path-marks.ts';
import type { Position } from '../match/problem.ts';
import { fenceContent, positionOf, type Block, type Fence } from './scan.ts';
import type { MemoChange } from '../../session/global/memos.ts';

interface Entry {
  text: string;
  position: Position;
  /** True for an entry from a bullet that is not nested in another list. */
  isItem?: boolean;
}

/** Reads one path per line, without bullets and links; the context lists determine each line's meaning. */
export function readContextVault(reading: Reading, section: Section): string[] {
  return readEntries(reading, section).flatMap(({ text, position }) =>
    text.split('\n').flatMap((line) => readVaultLine(reading, line, position) ?? []),
  );
}

/** Only the path counts in `` `src/app.ts` (the routes) ``. A line without marks follows the rules of context lists. */
function readVaultLine(reading: Reading, line: string, position: Position): string | null {
  const refused = reading.grammar < 3 ? null : refuseListRemark(line);
  if (refused !== null) {
    const found = excerpt(line, 0, line.length);
    addProblem(reading, position, `Found "${found}" in a list: ${refused.problem}.`, refused.hint);
    return null;
  }
  const written = /^[`[*]/.test(line) ? readWrittenPath(line, reading.grammar) : { text: unwrapPath(line) };
  if ('problem' in written) return unwrapPath(line);
  if (written.note !== undefined) addNote(reading, position, `"${excerpt(line, 0, line.length)}": ${written.note}.`);
  return written.text;
}

/** `[+] fact` adds, `[-] fact` removes; since grammar 3, a plain `- fact` also adds. */
export function readMemos(reading: Reading, section: Section): MemoChange[] {
  return readEntries(reading, section).flatMap((entry) => {
    const { text, position } = entry;
    const [, sign, fact] = /^\[([+-])\]\s*(\S.*)$/s.exec(text) ?? [];
    if (fact !== undefined) return [{ kind: sign === '+' ? 'add' : 'remove', fact: toOneLine(fact) }];
    const found = excerpt(text, 0, text.length);
    if ((reading.grammar < 3 ? noMemoBefore : noMemo).test(text))
      addNote(reading, position, `"${found}" is taken for no memo at all.`);
    else if (reading.grammar >= 3 && entry.isItem && !/^[[+-]/.test(text)) {
      addNote(reading, position, `"${found}" is taken for a memo to add: [+] ${found}`);
      return [{ kind: 'add', fact: toOneLine(text) }];
    } else addProblem(reading, position, `Found "${found}", expected a memo that starts with [+] or [-].`, memoExample);
    return [];
  });
}

/** Ways in which models state that they have no memo. */
const noMemo =
  /^\W{0,3}(?:none(?: needed)?|n\/a|nothing(?: new| to add)?|no(?: new)? (?:changes|memos|facts)(?: needed| yet| to add)?)\W{0,3}$/i;
/** The forms known to grammars 1 and 2. */
const noMemoBefore = /^\W{0,3}(?:none|n\/a|no changes)\W{0,3}$/i;

function toOneLine(fact: string): string {
  return fact.replaceAll('\n', ' ');
}

const memoExample = '[+] All endpoints are documented in the OpenAPI file.';

function readEntries(reading: Reading, section: Section): Entry[] {
  const entries: Entry[][] = [];
  const { blocks } = section;
  for (let at = 0; at < blocks.length; at += 1) {
    const block = blocks[at];
    if (block?.kind === 'bullet') {
      const item = readItem(block, blocks, at);
      const nested = item.nested.map((bullet) => toEntry(bullet.text, positionOf(bullet)));
      const own = reading.text.slice(block.textStart, item.nested[0]?.start ?? item.end);
      entries.push([{ ...toEntry(own, positionOf(block)), isItem: true }], nested);
      at += item.size - 1;
    } else if (block) {
      entries.push(readLines(reading, block, section));
    }
  }
  return entries.flat().filter(({ text }) => text !== '');
}

function readLines(reading: Reading, block: Block, section: Section): Entry[] {
  if (block.kind === 'fence') return block.closed ? fenceLines(reading.text, block) : [];
  if (block.kind === 'paragraph') return toLines(reading.text.slice(block.start, block.end), block.line);
  if (block.kind === 'heading' && (reading.grammar === 1 || !findActionType(block.text))) {
    const found = excerpt(block.text, 0, block.text.length);
    addProblem(
      reading,
      positionOf(block),
      `Found the heading "${found}" in a list.`,
      section.name === 'memos' ? memoExample : '- src/app.ts',
    );
  }
  return [];
}

function fenceLines(text: string, fence: Fence): Entry[] {
  return toLines(fenceContent(text, fence), fence.line + 1).map(({ text: line, position }) => ({
    text: line.replace(/^[-*+][ \t]+/, ''),
    position,
    isItem: /^[-*+][ \t]/.test(line),
  }));
}

function toLines(text: string, firstLine: number): Entry[] {
  return text.split('\n').map((line, at) => {
    const column = line.length - line.trimStart().length + 1;
    return { text: line.trim(), position: { line: firstLine + at, column } };
  });
}

/** A bullet that spans several lines is one entry; its lines are trimmed. */
function toEntry(text: string, position: Position): Entry {
  const lines = text.split('\n').map((line) => line.trim());
  return { text: lines.filter((line) => line !== '').join('\n'), position };
}
