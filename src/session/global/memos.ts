/** `memos.yaml`: a plain YAML list of facts. Changes preserve its comments, order and quoting. */
import { type Document, isNode, isScalar, isSeq, type Scalar, stringify, YAMLSeq } from 'yaml';
import { TeddyError } from '../../errors.ts';
import { groupBy } from '../text/group-by.ts';
import { parseUntrustedYaml, YamlFault } from '../yaml/untrusted-yaml.ts';

export interface ChangedMemos {
  text: string;
  added: string[];
  removed: string[];
  /** Facts to remove that are not in the list. */
  missing: string[];
  /** Facts to add that are already in the list. */
  present: string[];
}

/** Parses the facts, in order. Throws DAMAGED_SESSION, with the line, when the text is not a YAML list of strings. */
export function parseMemos(text: string): string[] {
  return readFacts(text).list.items.map(({ value }) => value);
}

/** Renders a text that `parseMemos` reads back as these facts; empty when there are none. */
export function renderMemos(facts: readonly string[]): string {
  return facts.length === 0 ? '' : stringify(facts, { lineWidth: 0 });
}

/** Applies the changes in order, comparing trimmed facts. Throws as `parseMemos` does. */
export function changeMemos(text: string, changes: readonly MemoChange[]): ChangedMemos {
  const { document, list } = readFacts(text);
  const result: ChangedMemos = { text, added: [], removed: [], missing: [], present: [] };
  const known = groupBy(list.items, ({ value }) => value.trim());
  const gone = new Set<Scalar<string>>();
  for (const change of changes) {
    const fact = change.fact.trim();
    const items = known.get(fact);
    if (change.kind === 'add') {
      if (items === undefined) known.set(fact, [addItem(document, list, fact)]);
      (items === undefined ? result.added : result.present).push(fact);
    } else {
      for (const item of items ?? []) gone.add(item);
      known.delete(fact);
      (items === undefined ? result.missing : result.removed).push(fact);
    }
  }
  if (result.added.length + result.removed.length === 0) return result;
  removeItems(list, gone);
  if (list.flow === true && list.items.length === result.added.length) list.flow = false;
  return { ...result, text: document.toString({ lineWidth: 0 }) };
}

/** Applies the additions and removals between `base` and `mine` to `theirs`. Throws as `parseMemos` does. */
export function mergeMemos(base: string, mine: string, theirs: string): string {
  const [before, after] = [new Set(parseMemos(base)), new Set(parseMemos(mine))];
  return changeMemos(theirs, [
    ...[...before].filter((fact) => !after.has(fact)).map((fact) => ({ kind: 'remove' as const, fact })),
    ...[...after].filter((fact) => !before.has(fact)).map((fact) => ({ kind: 'add' as const, fact })),
  ]).text;
}

function addItem(document: Document, list: YAMLSeq<Scalar<string>>, fact: string): Scalar<string> {
  const item = document.createNode(fact) as Scalar<string>;
  list.items.push(item);
  return item;
}

/** Removes items, but keeps a comment or blank line above an item, because it may be a heading for the items below. */
function removeItems(list: YAMLSeq<Scalar<string>>, gone: ReadonlySet<Scalar<string>>): void {
  const left: Scalar<string>[] = [];
  let above: Pick<Scalar, 'commentBefore' | 'spaceBefore'> = {};
  for (const item of list.items) {
    if (above.spaceBefore === true) item.spaceBefore = true;
    if (above.commentBefore != null) item.commentBefore = joinComments(above.commentBefore, item.commentBefore);
    above = gone.has(item) ? item : {};
    if (!gone.has(item)) left.push(item);
  }
  if (above.commentBefore != null) list.comment = joinComments(above.commentBefore, list.comment);
  list.items = left;
}

function joinComments(first: string, second: string | null | undefined): string {
  return second == null ? first : `${first}\n${second}`;
}

function readFacts(text: string): { document: Document; list: YAMLSeq<Scalar<string>> } {
  const { document, lineAt } = readDocument(text);
  const list = document.contents === null || isNull(document.contents) ? beginList(document) : document.contents;
  if (!isSeq<Scalar<string>>(list)) throw damaged('it is not a list', 1);
  for (const item of list.items as unknown[]) {
    if (isScalar(item) && typeof item.value === 'string') continue;
    throw damaged('an item of the list is not a string', lineAt(isNode(item) ? (item.range?.[0] ?? 0) : 0));
  }
  return { document, list };
}

function readDocument(text: string): ReturnType<typeof parseUntrustedYaml> {
  try {
    return parseUntrustedYaml(text);
  } catch (error) {
    if (error instanceof YamlFault) throw damaged(error.reason, error.line ?? 1);
    throw error;
  }
}

/** Begins a list in a text without items, which may have comments. */
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
    'Write a YAML list of strings with one fact per item, e.g. `- "Use pnpm: always"`. Quote a fact that contains `: ` or ` #`.',
  );
}

export interface MemoChange {
  kind: 'add' | 'remove';
  fact: string;
}
