/**
 * Handles marks around a path in a plan: Markdown, quotes, a remark after the path. Extracts the path if the marks have
 * only one meaning, and refuses it if they could have two. A name that itself contains such characters must be in
 * back-ticks, or percent-encoded in a link.
 */
import type { Grammar } from '../text/grammar.ts';

/** `note` describes the removed text, unless that was Markdown. `problem` is only the reason, without the path. */
type WrittenPath = { text: string; note?: string } | { problem: string; hint: string };

/** A value that begins with a mark: the marked text and its end. */
interface Span {
  mark: 'code' | 'link' | 'quotes' | 'angle brackets';
  inside: string;
  end: number;
}

/** No path is this long, even when shown and percent-encoded; a longer one is refused for its length. */
const maxMarkedLength = 32_768;
const maxPlainLength = 8192;
const onePath = 'Give the path alone; each action names one file.';

/** Reads a path. Grammar 1 only removes Markdown around the whole value, and refuses nothing. */
export function readWrittenPath(value: string, grammar: Grammar): WrittenPath {
  if (grammar === 1) return { text: unwrapPath(value) };
  const text = withoutBold(value.trim());
  if (text.length > maxMarkedLength) return { text };
  const span = readSpan(text);
  return span === null ? readPlain(text) : readMarked(text, span);
}

/** Removes bold, code and link marks; for a link, the destination counts. */
export function unwrapPath(text: string): string {
  const plain = withoutCode(withoutBold(text.trim()));
  const destination = linkDestination(plain);
  return destination === null ? plain : decodePercent(withoutCode(destination));
}

/** Removes the marks when the whole text is one code span. */
export function withoutCode(text: string): string {
  const marks = /^`+/.exec(text)?.[0] ?? '';
  if (marks === '' || text.length <= 2 * marks.length || !text.endsWith(marks)) return text;
  return text.slice(marks.length, -marks.length).trim();
}

function readMarked(text: string, span: Span): WrittenPath {
  const rest = text.slice(span.end);
  const remark = rest.trim();
  const taken = takeInside(span);
  if ('problem' in taken || remark === '') return taken;
  if (/`|\]\(|^(?:,|;|&|and\b|or\b)\s*\S/.test(remark))
    return { problem: 'it names more than one file', hint: onePath };
  if (!isRemark(rest)) {
    // `[id](x)/page.tsx` is a valid name.
    if (span.mark === 'link') return readPlain(text);
    const marks = span.mark === 'code' ? 'back-ticks' : span.mark;
    return { problem: `only a part of it stands in ${marks}`, hint: nameIt(text.replaceAll('`', '')) };
  }
  const note = `the text behind the path, "${shorten(remark)}", is ignored`;
  return { text: taken.text, note: taken.note === undefined ? note : `${taken.note}; ${note}` };
}

/** Matches `(new file)`, `: the entry point`, ` - the entry point`, or a period at the end. */
function isRemark(rest: string): boolean {
  return /^(?:\s*\(.*\)\.?|\s*:.*|\s+[\u2013\u2014-].*|\.)\s*$/s.test(rest);
}

function takeInside({ mark, inside }: Span): WrittenPath {
  if (mark === 'link') return takeDestination(inside);
  const text = inside.trim();
  if (mark === 'code') return refuseLineNumbers(text) ?? { text };
  return (
    refuseLineNumbers(withoutCode(text)) ?? { text: withoutCode(text), note: `the ${mark} around it are taken off` }
  );
}

/** Reads a link's destination. `/a.ts#L10` is line 10 of `/a.ts`, as on forges; a percent-encoded `#` is part of the name. */
function takeDestination(inside: string): WrittenPath {
  const fragment = /#L\d+(?:-L?\d+)?$/.exec(inside)?.[0] ?? /\.\w+(#[\w-]*)$/.exec(inside)?.[1];
  if (fragment === undefined) return { text: decodePercent(withoutCode(inside)) };
  const text = decodePercent(withoutCode(inside.slice(0, -fragment.length)));
  return { text, note: `"${shorten(fragment)}" at its end names a place in the file, and is taken off` };
}

function readPlain(text: string): WrittenPath {
  if (text.length > maxPlainLength) return { text };
  const slanted = /^\*([^*]+)\*$/.exec(text)?.[1]?.trim();
  if (slanted !== undefined) return { text: slanted, note: 'the asterisks around it are taken off' };
  const mark = /["<>`\u201c\u201d]/.exec(text)?.[0];
  if (mark !== undefined)
    return { problem: `it has ${mark === '`' ? 'a back-tick' : `\`${mark}\``} in it`, hint: nameIt(text) };
  const list = /\.\w{1,10}(?:, *| and | & )\S+\.\w{1,10}$/;
  if (list.test(text)) return { problem: 'it names more than one file', hint: onePath };
  const remark = /\.[a-z]\w{0,9}( +\(.*\)|(?: +[:#\u2013\u2014-]|:) +[^./]*)$/i.exec(text)?.[1]?.trim();
  return remark === undefined ? (refuseLineNumbers(text) ?? { text }) : refuseRemark(text, remark);
}

/**
 * Refuses a remark after an unmarked path in a list, where names may contain spaces. A remark follows a name with an
 * extension, after a dash or a colon or in parentheses, and does not itself end like a file name.
 */
export function refuseListRemark(line: string): { problem: string; hint: string } | null {
  // A JSON string names exactly one file.
  if (/^!? *"/.test(line)) return null;
  const remark = /\.[a-z]\w{0,9}( +\(.*\)\.?|(?: +[:\u2013\u2014-]|:) +.*)$/i.exec(line)?.[1]?.trim();
  if (remark === undefined || /\/$|\.\w{1,10}$/.test(remark)) return null;
  return refuseRemark(line, remark);
}

function refuseRemark(text: string, remark: string): { problem: string; hint: string } {
  return { problem: `it has the remark "${shorten(remark)}" behind the path`, hint: nameIt(text) };
}

function refuseLineNumbers(text: string): { problem: string; hint: string } | null {
  const numbers = /\.\w{1,10}(:\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)$/.exec(text)?.[1];
  if (numbers === undefined) return null;
  return { problem: `it has line numbers behind the path, "${numbers}"`, hint: nameIt(text) };
}

/** Explains how to write a name that contains these characters. */
function nameIt(name: string): string {
  const shown = shorten(name);
  const written = /[`:#]/.test(shown) ? `as a link: ${toLink(shown)}` : `in back-ticks: \`${shown}\``;
  return `Give the path alone. If the name is like that, write it ${written}`;
}

function toLink(name: string): string {
  const encode = (char: string) => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
  return `[${name.replace(/[[\]]/g, '')}](/${name.replace(/["<>`#%?()[\]\\ ]/g, encode)})`;
}

function shorten(text: string): string {
  const line = text.split('\n', 1)[0] ?? '';
  return line.length > 60 ? `${line.slice(0, 60)}...` : line;
}

/** Removes only asterisks, because `__main__.py` and `__init__` are names. */
function withoutBold(text: string): string {
  return text.length > 4 && text.startsWith('**') && text.endsWith('**') ? text.slice(2, -2).trim() : text;
}

/** Reads a marked beginning; null when the text has none, or the mark is unclosed. */
function readSpan(text: string): Span | null {
  switch (text[0]) {
    case '`':
      return readCode(text);
    case '[':
      return readLink(text);
    case '"':
      return readQuoted(text, '"', 'quotes');
    case "'":
      return readQuoted(text, "'", 'quotes');
    case '\u201c':
      return readQuoted(text, '\u201d', 'quotes');
    case '<':
      return readQuoted(text, '>', 'angle brackets');
    default:
      return null;
  }
}

/** Reads a code span, which ends at the first run with an equal number of back-ticks. */
function readCode(text: string): Span | null {
  const length = /^`+/.exec(text)?.[0].length ?? 0;
  for (const { 0: marks, index } of text.slice(length).matchAll(/`+/g)) {
    if (marks.length !== length) continue;
    return { mark: 'code', inside: text.slice(length, length + index), end: 2 * length + index };
  }
  return null;
}

function readQuoted(text: string, closing: string, mark: Span['mark']): Span | null {
  const end = text.indexOf(closing, 1);
  return end <= 1 ? null : { mark, inside: text.slice(1, end), end: end + 1 };
}

/** Reads a link with balanced brackets, so that `[app/[id]/(tab)/page.tsx](/app/[id]/(tab)/page.tsx)` parses as a whole. */
function readLink(text: string): Span | null {
  const whole = linkDestination(text);
  const close = closingBracket(text, 0, '[', ']');
  if (close === -1 || text[close + 1] !== '(') return null;
  const end = text[close + 2] === '<' ? text.indexOf('>)', close) + 1 : closingBracket(text, close + 1, '(', ')');
  if (end > 0 && end < text.length - 1)
    return { mark: 'link', inside: toDestination(text.slice(close + 2, end)), end: end + 1 };
  return whole === null ? null : { mark: 'link', inside: whole, end: text.length };
}

/** Returns a note when a link shows one path and points to another; undefined when it shows the path or its end. */
export function describeLink(value: string, path: string): string | undefined {
  const shown = /^\[([^\]]+)\]\(/.exec(value.trim())?.[1]?.replaceAll('`', '').trim() ?? '';
  const text = decodePercent(shown).replace(/^\.?\//, '');
  // A link's text omits these marks.
  const plain = path.replace(/[`[\]]/g, '');
  if (!/\.\w{1,10}$/.test(text) || `/${plain}`.endsWith(`/${text}`) || text.endsWith(`/${plain}`)) return undefined;
  return `the link shows "${shorten(shown)}" and leads to "${shorten(path)}", which counts`;
}

function linkDestination(text: string): string | null {
  if (!text.startsWith('[') || !text.endsWith(')')) return null;
  const close = closingBracket(text, 0, '[', ']');
  return close === -1 || text[close + 1] !== '(' ? null : toDestination(text.slice(close + 2, -1));
}

function toDestination(text: string): string {
  const inside = text.trim();
  const angled = /^<([^<>]*)>/.exec(inside)?.[1];
  if (angled !== undefined) return angled;
  return (/^([^"]*)[ \t]"[^"]*"$/.exec(inside)?.[1] ?? inside).trim().replace(/\\([()])/g, '$1');
}

function closingBracket(text: string, start: number, open: string, close: string): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === '\\' && open === '(') at += 1;
    else if (text[at] === open) depth += 1;
    else if (text[at] === close) depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // `100%.md` is a valid name
  }
}
