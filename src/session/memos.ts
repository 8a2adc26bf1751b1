/** `memos.yaml`: a plain YAML list of facts. Changes keep its comments, order and quoting. */
import {
  type Document,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  parseDocument,
  type Scalar,
  stringify,
  YAMLSeq,
} from 'yaml';
import { TeddyError } from '../errors.ts';
import type { MemoChange } from '../plan/plan.ts';
import { isDeeplyNested } from './yaml-depth.ts';

export interface ChangedMemos {
  text: string;
  added: string[];
  removed: string[];
  /** Were to be removed, and are not there. */
  missing: string[];
  /** Were to be added, and are there already. */
  present: string[];
}

/** The facts, in order. Throws DAMAGED_SESSION, with the line, when the text is not a YAML list of strings. */
export function parseMemos(text: string): string[] {
  return readFacts(text).list.items.map(({ value }) => value);
}

/** A text that `parseMemos` reads as the same facts; empty for none. */
export function renderMemos(facts: readonly string[]): string {
  return facts.length === 0 ? '' : stringify(facts, { lineWidth: 0 });
}

/** Applies the changes in their order; facts are the same when they are so after trimming. Throws as `parseMemos`. */
export function changeMemos(text: string, changes: readonly MemoChange[]): ChangedMemos {
  const { document, list } = readFacts(text);
  const result: ChangedMemos = { text, added: [], removed: [], missing: [], present: [] };
  for (const change of changes) {
    const fact = change.fact.trim();
    const known = list.items.filter(({ value }) => value.trim() === fact);
    if (change.kind === 'add') {
      if (known.length === 0) list.items.push(document.createNode(fact) as Scalar<string>);
      (known.length === 0 ? result.added : result.present).push(fact);
    } else {
      for (const item of known) removeItem(list, item);
      (known.length === 0 ? result.missing : result.removed).push(fact);
    }
  }
  if (result.added.length + result.removed.length === 0) return result;
  if (list.flow === true && list.items.length === result.added.length) list.flow = false;
  return { ...result, text: document.toString({ lineWidth: 0 }) };
}

/** What one side added and removed against a base, applied to another text. Throws as `parseMemos`. */
export function mergeMemos(base: string, mine: string, theirs: string): string {
  const [before, after] = [parseMemos(base), parseMemos(mine)];
  return changeMemos(theirs, [
    ...before.filter((fact) => !after.includes(fact)).map((fact) => ({ kind: 'remove' as const, fact })),
    ...after.filter((fact) => !before.includes(fact)).map((fact) => ({ kind: 'add' as const, fact })),
  ]).text;
}

/** A comment or blank line above the item stays, since it may be a heading for those below. */
function removeItem(list: YAMLSeq<Scalar<string>>, item: Scalar<string>): void {
  const index = list.items.indexOf(item);
  list.items.splice(index, 1);
  const next = list.items[index];
  if (next && item.spaceBefore === true) next.spaceBefore = true;
  if (item.commentBefore == null) return;
  if (next) next.commentBefore = joinComments(item.commentBefore, next.commentBefore);
  else list.comment = joinComments(item.commentBefore, list.comment);
}

function joinComments(first: string, second: string | null | undefined): string {
  return second == null ? first : `${first}\n${second}`;
}

function readFacts(text: string): { document: Document; list: YAMLSeq<Scalar<string>> } {
  if (isDeeplyNested(new Lexer().lex(text))) throw damaged('it is nested', 1);
  const lines = new LineCounter();
  // Its own message would name the line a second time, and end in a colon.
  const document: Document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number) => lines.linePos(offset).line;
  const [error] = document.errors;
  if (error) throw damaged(error.message, lineAt(error.pos[0]));
  const list = document.contents === null || isNull(document.contents) ? beginList(document) : document.contents;
  if (!isSeq<Scalar<string>>(list)) throw damaged('it is not a list', 1);
  for (const item of list.items as unknown[]) {
    if (isScalar(item) && typeof item.value === 'string') continue;
    throw damaged('an item of the list is not a string', lineAt(isNode(item) ? (item.range?.[0] ?? 0) : 0));
  }
  return { document, list };
}

/** A text without any item, perhaps with comments. */
function beginList(document: Document): YAMLSeq<Scalar<string>> {
  const list = new YAMLSeq<Scalar<string>>();
  const comment = document.contents?.comment;
  if (comment != null) list.commentBefore = comment;
  document.contents = list;
  return list;
}

function isNull(node: unknown): boolean {
  return isScalar(node) && node.value === null;
}

function damaged(reason: string, line: number): TeddyError {
  return new TeddyError(
    'DAMAGED_SESSION',
    `memos.yaml, line ${line}: ${reason}`,
    'Write a YAML list of strings, one fact an item, e.g. `- "Use pnpm: always"`; put it in quotes when it holds `: ` or ` #`.',
  );
}
