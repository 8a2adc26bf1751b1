/** Every check that applies to a content, and what came of it. */
import type { SyntaxChecker } from '../ports/project.ts';
import type { RepoPath } from '../names.ts';
import { toCandidate, type Candidate, type Verdict } from './candidate.ts';
import { checkChat } from './check-chat.ts';
import { checkConflicts } from './check-conflicts.ts';
import { checkFences } from './check-fences.ts';
import { checkBom, checkFinalNewline, checkLineEndings, noteFormat } from './check-format.ts';
import { checkOmission } from './check-omission.ts';
import { checkSyntax } from './check-syntax.ts';
import { checkUtf8, repairUtf8 } from './check-utf8.ts';
import { stripWrapper } from './wrapper-fence.ts';
import type { Finding, ValidationSummary } from './write.ts';
import type { Operation } from '../session/write-limits.ts';
import { locator, takeLines } from './positions.ts';

export interface Content {
  path: RepoPath;
  operation: Operation;
  /** As it came. */
  content: Uint8Array;
  /** The target as it stood when the session began; null: there was none. */
  base: Uint8Array | null;
}

export interface Validators {
  syntax: SyntaxChecker;
  findSecrets: FindSecrets;
  /** The user's own, on the whole target as it would be; null: none is set for it. */
  runChecker: ((target: Uint8Array) => Promise<Finding[] | { skipped: string }>) | null;
}

export interface Validation {
  /** Lines are those of the content as it came; empty: it can be installed. */
  findings: Finding[];
  summary: ValidationSummary;
  /** What was changed, or is worth a word. */
  notes: string[];
  /** The whole target as it would be. */
  final: Uint8Array;
}

/**
 * Runs all checks that apply: whoever corrects the content is told everything at once. With `repair` invalid UTF-8 becomes
 * U+FFFD, and is no finding. Throws only what the validators throw.
 */
export async function validateContent(
  { path, operation, content, base }: Content,
  { syntax, findSecrets, runChecker }: Validators,
  { repair = false }: { repair?: boolean } = {},
): Promise<Validation> {
  if (content.length === 0) return refuseEmpty(base);
  const { candidate, lines, notes, repaired } = prepare(toCandidate(path, operation, content, base), repair);
  const final = toFinal(candidate);
  const verdicts: [check: string, verdict: Verdict][] = [
    ...checkText(candidate, repaired),
    ['shrink', checkShrink(candidate)],
    ['syntax', candidate.kind === 'binary' ? null : await checkSyntax(candidate, syntax)],
    ['secrets', candidate.kind === 'binary' ? null : await checkSecrets(candidate, findSecrets)],
    ['checker', runChecker === null ? null : await runChecker(final)],
  ];
  const findings = verdicts.flatMap(([, verdict]) => (Array.isArray(verdict) ? verdict : []));
  return { findings: findings.map((finding) => shiftDown(finding, lines)), summary: summarize(verdicts), notes, final };
}

type TextCheck = (candidate: Candidate) => Verdict;

const textChecks: [name: string, check: TextCheck][] = [
  ['control-characters', checkCharacters],
  ['bom', checkBom],
  ['line-endings', checkLineEndings],
  ['final-newline', checkFinalNewline],
  ['conflict-markers', checkConflicts],
  ['code-fences', checkFences],
  ['chat', checkChat],
  ['omission', checkOmission],
];

function checkText(candidate: Candidate, repaired: string | null): [string, Verdict][] {
  if (candidate.kind === 'binary') return [['text', { skipped: 'the target is a binary file' }]];
  const utf8: Verdict = repaired === null ? checkUtf8(candidate) : { skipped: repaired };
  return [['utf-8', utf8], ...textChecks.map(([name, check]): [string, Verdict] => [name, check(candidate)])];
}

interface Prepared {
  candidate: Candidate;
  /** Taken away before it. */
  lines: number;
  notes: string[];
  /** What was repaired. */
  repaired: string | null;
}

function prepare(came: Candidate, repair: boolean): Prepared {
  if (came.kind === 'binary') return { candidate: came, lines: 0, notes: [], repaired: null };
  const { candidate: whole, repaired } = repair ? repairBytes(came) : { candidate: came, repaired: null };
  const unwrapped = stripWrapper(whole.text, whole.kind);
  const isKept = unwrapped === null || unwrapped.text === '' || isWrapped(whole);
  const candidate = isKept ? whole : { ...whole, text: unwrapped.text, bytes: stripBytes(whole, unwrapped.text) };
  return {
    candidate,
    lines: isKept ? 0 : unwrapped.lines,
    notes: [
      ...(repaired === null ? [] : [`${repaired}.`]),
      ...(isKept ? [] : ['A code fence round the whole content was taken away.']),
      ...noteFormat(candidate),
    ],
    repaired,
  };
}

/** The target has such a fence itself. */
function isWrapped({ base, kind, operation }: Candidate): boolean {
  return base !== null && operation === 'overwrite' && stripWrapper(base.text(), kind) !== null;
}

function repairBytes(candidate: Candidate): { candidate: Candidate; repaired: string | null } {
  if (candidate.isUtf8) return { candidate, repaired: null };
  const { bytes, count } = repairUtf8(candidate.bytes);
  const places = count === 1 ? '1 place that was not UTF-8 was' : `${count} places that were not UTF-8 were`;
  return { candidate: { ...candidate, bytes, isUtf8: true }, repaired: `${places} replaced by U+FFFD` };
}

/** Of the very bytes, since the text has lost those that are not UTF-8. */
function stripBytes({ bytes, text }: Candidate, inner: string): Uint8Array {
  const start = text.indexOf('\n', text.search(/[`~]/)) + 1;
  const first = new TextEncoder().encode(text.slice(0, start)).length;
  const last = new TextEncoder().encode(text.slice(start + inner.length)).length;
  return bytes.subarray(first, bytes.length - last);
}

function toFinal({ operation, bytes, base }: Candidate): Uint8Array {
  if (operation !== 'append' || base === null) return bytes;
  const final = new Uint8Array(base.bytes.length + bytes.length);
  final.set(base.bytes);
  final.set(bytes, base.bytes.length);
  return final;
}

function summarize(verdicts: [check: string, verdict: Verdict][]): ValidationSummary {
  const summary: ValidationSummary = { passed: [], failed: [], skipped: [] };
  for (const [check, verdict] of verdicts) {
    if (verdict === null) continue;
    if ('skipped' in verdict) summary.skipped.push({ check, reason: verdict.skipped });
    else (verdict.length === 0 ? summary.passed : summary.failed).push(check);
  }
  return summary;
}

function shiftDown(finding: Finding, lines: number): Finding {
  return finding.line === undefined || lines === 0 ? finding : { ...finding, line: finding.line + lines };
}

function refuseEmpty(base: Uint8Array | null): Validation {
  return {
    findings: [{ check: 'content', message: 'content cannot be empty' }],
    summary: { passed: [], failed: ['content'], skipped: [] },
    notes: [],
    final: base ?? new Uint8Array(),
  };
}

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const control = /[\0-\x08\x0b\x0e-\x1f\x7f]/g;

const maxTold = 20;

const names: Record<string, string> = { '\0': 'NUL', '\x1b': 'ESC', '\x08': 'backspace', '\x7f': 'DEL' };

/**
 * Control characters have no business in a text file, but for tab, line feed, form feed and carriage return. One
 * finding for each such character, at its first place; not for one that the target had before.
 */
function checkCharacters({ text, base }: Candidate): Verdict {
  const firsts = new Map<string, number>();
  for (const { 0: found, index } of text.matchAll(control)) if (!firsts.has(found)) firsts.set(found, index);
  const locate = locator(text);
  const findings: Finding[] = [];
  for (const [character, offset] of firsts) {
    if (findings.length === maxTold) break;
    if (base?.text().includes(character)) continue;
    const message = `The text has the control character ${nameCharacter(character)}.`;
    findings.push({ check: 'control-characters', message, ...locate(offset) });
  }
  return findings;
}

function nameCharacter(character: string): string {
  const code = `U+${character.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`;
  const name = names[character];
  return name === undefined ? code : `${code} (${name})`;
}

/** `line` counts from 1. */
interface FoundSecret {
  kind: string;
  line?: number;
}

type FindSecrets = (text: string, path: string) => Promise<FoundSecret[]>;

/** Secrets that the target did not have. */
async function checkSecrets({ path, text, base }: Candidate, findSecrets: FindSecrets): Promise<Verdict> {
  const found = await findSecrets(text, path);
  if (found.length === 0) return [];
  const known = base === null ? [] : toKeys(await findSecrets(base.text(), path), base.text());
  const keys = toKeys(found, text);
  return found.filter((_, at) => !known.includes(keys[at] ?? '')).map(toFinding);
}

function toFinding({ kind, line }: FoundSecret): Finding {
  const message = `This looks like a secret (${kind}); content is committed, so it must not hold any.`;
  return { check: 'secrets', message, ...(line === undefined ? {} : { line }) };
}

/** A private key begins with the same line as every other: the next one tells it apart. */
function toKeys(found: FoundSecret[], text: string): string[] {
  const lines = takeLines(text, new Set(found.flatMap(({ line = 0 }) => [line, line + 1])));
  return found.map(({ kind, line = 0 }) => {
    const isKey = /private key/.test(kind);
    return [kind, lines.get(line)?.trim(), ...(isKey ? [lines.get(line + 1)?.trim()] : [])].join('\n');
  });
}

/** Of a smaller file nothing can be told. */
const minBaseBytes = 256;

/** An overwrite that loses most of the file is often an answer that was cut, or left out what was to stay. */
function checkShrink({ operation, bytes, base }: Candidate): Verdict {
  if (operation !== 'overwrite' || base === null) return null;
  const [had, has] = [base.bytes.length, bytes.length];
  if (had < minBaseBytes || has * 2 >= had) return [];
  const message = `The content is ${has} bytes, the target ${had}: more than half of it would be lost.`;
  return [{ check: 'shrink', message }];
}
