/**
 * Finds lines that represent others, such as `// ... rest of the code unchanged`. In the file, they would replace the
 * lines that they represent.
 */
import type { Candidate, Verdict } from './candidate.ts';
import { findFences, type Fence } from './fences.ts';
import { locator } from './positions.ts';
import type { Finding } from './write.ts';

/** Each of these lines contains one of these words ... */
const candidate =
  /unchanged|existing|truncated|omitted|remain|previous|original|snip|brevity|as before|as above|\bsame\b|\brest\b|\bother\b|\bmore\b|\bkeep\b|implementation|continue/gi;
/** ... and begins like a comment or in brackets, or contains dots. */
const shape = /^\s*(?:[/#;%*<{(["'[]|--|rem )|\.{3}|\u2026/i;
const maxTold = 100;
const maxLineLength = 300;

export function checkOmission({ kind, text, base }: Candidate): Verdict {
  const locate = locator(text);
  const findings: Finding[] = [];
  let fences: Fence[] | null = null;
  let next = 0;
  for (const { index } of text.matchAll(candidate)) {
    if (index < next) continue;
    const start = index === 0 ? 0 : text.lastIndexOf('\n', index - 1) + 1;
    const newline = text.indexOf('\n', index);
    const end = (next = newline === -1 ? text.length : newline);
    if (end - start > maxLineLength) continue;
    const line = text.slice(start, end);
    if (!shape.test(line)) continue;
    const found = findOmission(line, kind === 'code');
    if (found === null || base?.hasLine(line)) continue;
    // A document may show an example of such a line.
    if (kind === 'markdown' && isWithin((fences ??= findFences(text)), start)) continue;
    if (findings.length === maxTold) break;
    const message = `${JSON.stringify(found)} stands for lines that are left out; the whole content is needed.`;
    findings.push({ check: 'omission', message, ...locate(start + line.search(/\S/)) });
  }
  return findings;
}

function isWithin(fences: Fence[], offset: number): boolean {
  return fences.some(({ start, end }) => start < offset && offset < end);
}

/** The patterns that determine whether a line represents omitted lines. */

const codeThing =
  '(?:code|files?|contents?|class|functions?|methods?|modules?|components?|document|implementations?|logic|imports|script|styles|rules|markup|program|tests)';
const thing = `(?:${codeThing}|sections?|text|exports|lines|parts?|fields|properties|props|items|entries|values|cases|routes|handlers|helpers|types|definitions|declarations|configuration|config|settings|options|html|body|block|everything|data|rows|records|elements|state|hooks|constants|variables)`;
const kept = '(?:unchanged|the same|same|as before|as is|as-is|as above|untouched|intact)';
const keptOrGone = `(?:${kept}|omitted|here|goes here|follows?|continues?|not shown|truncated|skipped|snipped|elided)`;
const verb = '(?:(?:is|are|remains?|stays?|goes|has been|have been) )?';
const reason = '(?: (?:for (?:brevity|clarity|now|simplicity)|from (?:before|above)|as before|here|below))?';
const words = '(?:[\\w-]+ ){0,4}?';
const lead = '(?:and |keep |with |plus )?(?:all of the |all the |the |all |your )?';

const ofRest = `${lead}(?:rest|remainder)`;
const ofExisting = `${lead}(?:existing|previous|original|remaining|unchanged|current)`;
const ofOthers = `${lead}(?:other|more|same|omitted|additional)`;

/** In a comment or in brackets, which need no dots. */
const plain = compile([
  `${ofRest} of ${words}${codeThing} ${verb}${kept}${reason}`,
  `${ofRest} of ${words}${codeThing} ${verb}(?:omitted|here|goes here|not shown)${reason}`,
  `(?:${ofRest}|everything else|all else) ${verb}${kept}${reason}`,
  `(?:${ofExisting}|${lead}other) (?:[\\w-]+ )?${codeThing} ${verb}(?:${kept}|omitted|here|goes here|not shown)${reason}`,
  `${words}(?:omitted|truncated|skipped|snipped|elided) for (?:brevity|clarity|simplicity)`,
]);
/** Before dots. */
const beforeDots = compile([`${ofRest} of ${words}${codeThing}`, `${ofExisting} (?:[\\w-]+ )?${codeThing}`]);
/** After dots. */
const behindDots = compile([
  `${ofRest}(?: of ${words}${thing})?(?: ${verb}${keptOrGone}${reason})?`,
  `(?:${ofExisting}|${ofOthers}) (?:[\\w-]+ ){0,2}?${thing}(?: ${verb}${keptOrGone}${reason})?`,
  `(?:the )?${thing} ${verb}${keptOrGone}${reason}`,
  `(?:\\d+ )?more (?:lines?|items?|entries|rows|records)(?: ${keptOrGone})?`,
  `(?:truncated|omitted|snip|snipped|unchanged|same as (?:before|above)|as before|omitted for brevity|existing implementation)`,
]);
const inBrackets = compile([
  `(?:(?:the |rest of (?:the )?)?(?:output|contents?|text|file|code|response|message|document|remaining|remainder|lines?|data|rest)(?: \\w+)? )?(?:truncated|omitted|snip|snipped|unchanged)(?: for (?:brevity|clarity))?`,
  `(?:\\d+ )?(?:more )?(?:lines?|rows|entries|characters) (?:truncated|omitted|skipped)`,
]);

const comment =
  /^(?:\/\/+|#+|--+|;+|%+|\/\*+|\*+(?!\/)|<!--+|\{\/\*+|\(\*+|rem |'|"{3}|'{3})\s*(\S.*?)\s*(?:\*+\/\}?|--+>|\*\)|"{3}|'{3})?$/i;
const htmlComment = /^(?:<!--+|\{\/\*+)\s*(\S.*?)\s*(?:--+>|\*+\/\})$/;
/** After code. */
const trailing = /\s(?:\/\/|#|--|\/\*|<!--)\s*((?:\.{3}|\u2026).*?)\s*(?:\*\/|--+>)?$/;

/** Returns the words that reveal an omission, or null. In prose, only words that no sentence contains count. */
function findOmission(line: string, isCode: boolean): string | null {
  const trimmed = line.trim();
  const body = isCode ? (comment.exec(trimmed)?.[1] ?? trailing.exec(trimmed)?.[1]) : htmlComment.exec(trimmed)?.[1];
  if (body !== undefined && isOmission(unwrap(body))) return body;
  return isBareOmission(trimmed) ? trimmed : null;
}

function isOmission({ words: text, dotsBefore, dotsBehind, isBracketed }: Inner): boolean {
  return (
    plain.test(text) ||
    (dotsBefore && behindDots.test(text)) ||
    (dotsBehind && beforeDots.test(text)) ||
    (isBracketed && inBrackets.test(text))
  );
}

/**
 * Returns true if an omission outside a comment is in brackets, or follows dots and has several words, because
 * `...existing` spreads an array.
 */
function isBareOmission(line: string): boolean {
  const inner = unwrap(line);
  if (inner.isBracketed) return !line.startsWith('(') && isOmission({ ...inner, dotsBehind: false });
  return inner.dotsBefore && inner.words.includes(' ') && behindDots.test(inner.words);
}

/** The text in lower case, without the brackets, dots and punctuation around it. */
interface Inner {
  words: string;
  dotsBefore: boolean;
  dotsBehind: boolean;
  isBracketed: boolean;
}

const maxLayers = 3;

function unwrap(line: string): Inner {
  const inner: Inner = { words: line.toLowerCase(), dotsBefore: false, dotsBehind: false, isBracketed: false };
  for (let layer = 0; layer < maxLayers; layer += 1) {
    const text = inner.words.replace(/^[\s*_-]+|[\s*_:!-]+$/g, '').replace(/([^.])\.$/, '$1');
    const inside = /^(?:\[(.*)\]|\((.*)\)|<(.*)>)$/.exec(text);
    const bare = inside?.[1] ?? inside?.[2] ?? inside?.[3] ?? text;
    inner.isBracketed ||= inside !== null;
    inner.dotsBefore ||= /^\s*(?:\.{3}|\u2026)/.test(bare);
    inner.dotsBehind ||= /(?:\.{3}|\u2026)\s*$/.test(bare);
    inner.words = bare.replace(/^\s*(?:\.{3,}|\u2026)\s*|\s*(?:\.{3,}|\u2026)\s*$/g, '').trim();
  }
  inner.words = inner.words.replace(/[\s,;]+/g, ' ');
  return inner;
}

function compile(patterns: string[]): RegExp {
  return new RegExp(`^(?:${patterns.join('|')})$`);
}
