/** Runs every check that applies to the content. */
import type { SyntaxChecker } from '../ports/project.ts';
import type { RepoPath } from '../names.ts';
import { toCandidate, type Candidate, type Verdict } from './candidate.ts';
import {
  checkBom,
  checkCharacters,
  checkFinalNewline,
  checkLineEndings,
  checkUtf8,
  noteFormat,
  repairUtf8,
} from './check-bytes.ts';
import { checkOmission } from './check-omission.ts';
import { checkChat, checkConflicts, checkFences, checkShrink, stripWrapper } from './check-shape.ts';
import type { Finding, ValidationSummary } from './write.ts';
import { countNewlines } from '../session/masks/mask.ts';
import type { Operation } from '../session/settings/write-limits.ts';
import { takeLines } from './positions.ts';
import { countBytes } from '../session/text/bytes.ts';

export interface Content {
  path: RepoPath;
  operation: Operation;
  /** The content as received. */
  content: Uint8Array;
  /** The target at the session's beginning; null when there was none. */
  base: Uint8Array | null;
}

export interface Validators {
  syntax: SyntaxChecker;
  findSecrets: FindSecrets;
  /** Runs the user's own checker on the entire future target. Null when none is configured. */
  runChecker: ((target: Uint8Array) => Promise<Finding[] | { skipped: string }>) | null;
}

export interface Validation {
  /** Line numbers refer to the content as received. Content without findings can be installed. */
  findings: Finding[];
  summary: ValidationSummary;
  /** Notes on changes to the content, or on facts worth mentioning. */
  notes: string[];
  /** The entire future target. */
  final: Uint8Array;
}

/**
 * Runs all applicable checks, so that the user or model that corrects the content learns about everything in one round.
 * With `repair`, invalid UTF-8 becomes U+FFFD and is not a finding. Throws only the errors of the validators.
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
  const shift = (finding: Finding) =>
    finding.line === undefined ? finding : { ...finding, line: finding.line + lines };
  return { findings: lines === 0 ? findings : findings.map(shift), summary: summarize(verdicts), notes, final };
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
  /** The number of lines removed before the content. */
  lines: number;
  notes: string[];
  /** Describes the repair; null when there was none. */
  repaired: string | null;
}

function prepare(came: Candidate, repair: boolean): Prepared {
  if (came.kind === 'binary') return { candidate: came, lines: 0, notes: [], repaired: null };
  const { candidate: whole, repaired } = repair ? repairBytes(came) : { candidate: came, repaired: null };
  const unwrapped = stripWrapper(whole.text, whole.kind);
  const { base, operation } = whole;
  // The target itself may have a fence around its content.
  const isWrapped = base !== null && operation === 'overwrite' && stripWrapper(base.text(), whole.kind) !== null;
  const isKept = unwrapped === null || unwrapped.text === '' || isWrapped;
  const candidate = isKept ? whole : { ...whole, text: unwrapped.text, bytes: stripBytes(whole, unwrapped.text) };
  return {
    candidate,
    lines: isKept ? 0 : unwrapped.lines,
    notes: [
      ...(repaired === null ? [] : [`${repaired}.`]),
      ...(isKept ? [] : ['A code fence around the whole content was removed.']),
      ...noteFormat(candidate),
    ],
    repaired,
  };
}

function repairBytes(candidate: Candidate): { candidate: Candidate; repaired: string | null } {
  if (candidate.isUtf8) return { candidate, repaired: null };
  const { bytes, count } = repairUtf8(candidate.bytes);
  const places = count === 1 ? '1 place that was not UTF-8 was' : `${count} places that were not UTF-8 were`;
  return { candidate: { ...candidate, bytes, isUtf8: true }, repaired: `${places} replaced by U+FFFD` };
}

/** Cuts the bytes themselves, because the text has lost the invalid ones. */
function stripBytes({ bytes, text }: Candidate, inner: string): Uint8Array {
  const start = text.indexOf('\n', text.search(/[`~]/)) + 1;
  const first = countBytes(text.slice(0, start));
  const last = countBytes(text.slice(start + inner.length));
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

function refuseEmpty(base: Uint8Array | null): Validation {
  return {
    findings: [{ check: 'content', message: 'content cannot be empty' }],
    summary: { passed: [], failed: ['content'], skipped: [] },
    notes: [],
    final: base ?? new Uint8Array(),
  };
}

/** `line` counts from 1. */
interface FoundSecret {
  kind: string;
  line?: number;
}

type FindSecrets = (text: string, path: string) => Promise<FoundSecret[]>;

/** Reports secrets, except secrets already in the target. */
async function checkSecrets({ path, text, base }: Candidate, findSecrets: FindSecrets): Promise<Verdict> {
  const found = await findSecrets(text, path);
  if (found.length === 0) return [];
  const known = base === null ? [] : toKeys(await findSecrets(base.text(), path), base.text());
  const keys = toKeys(found, text);
  return found
    .filter((_, at) => !known.includes(keys[at] ?? ''))
    .map(({ kind, line }) => {
      const message = `This looks like a secret (${kind}); content is committed, so it must not contain any.`;
      return { check: 'secrets', message, ...(line === undefined ? {} : { line }) };
    });
}

/** Returns a key for each secret. All private keys begin with an identical line, so the key includes the next line too. */
function toKeys(found: FoundSecret[], text: string): string[] {
  const lines = takeLines(text, new Set(found.flatMap(({ line = 0 }) => [line, line + 1])));
  return found.map(({ kind, line = 0 }) => {
    const isKey = /private key/.test(kind);
    return [kind, lines.get(line)?.trim(), ...(isKey ? [lines.get(line + 1)?.trim()] : [])].join('\n');
  });
}

/** Checks the entire future target. Does not report errors already in the target. */
async function checkSyntax(candidate: Candidate, syntax: SyntaxChecker): Promise<Verdict> {
  if (candidate.kind === 'markdown') return null;
  const before = candidate.operation === 'append' ? (candidate.base?.text() ?? '') : '';
  const whole = before + candidate.text;
  const verdict = await syntax.check(candidate.path, whole);
  if (verdict === null) return candidate.kind === 'code' ? { skipped: 'no parser for files of this name' } : null;
  if ('skipped' in verdict || verdict.length === 0) return verdict;
  const known = await findKnown(candidate, syntax);
  const isNew = toErrorKeys(verdict, whole);
  return verdict.filter((_, at) => !known.has(isNew[at] ?? '')).map((finding) => shiftUp(finding, before));
}

async function findKnown({ path, base }: Candidate, syntax: SyntaxChecker): Promise<Set<string>> {
  if (base === null || base.bytes.length === 0) return new Set();
  const verdict = await syntax.check(path, base.text());
  return new Set(verdict === null || 'skipped' in verdict ? [] : toErrorKeys(verdict, base.text()));
}

/** Returns a key for each error: an equal message at equal text is the same error, even if it has moved. */
function toErrorKeys(findings: Finding[], text: string): string[] {
  const lines = takeLines(text, new Set(findings.flatMap(({ line }) => line ?? [])));
  return findings.map(({ message, line }) => `${message}\n${lines.get(line ?? 0)?.trim() ?? ''}`);
}

function shiftUp({ line, column, ...finding }: Finding, before: string): Finding {
  if (before === '' || line === undefined) return { ...finding, ...(line && { line }), ...(column && { column }) };
  const above = countNewlines(before);
  if (line <= above) return { ...finding, message: `${finding.message} (line ${line} of the target)` };
  const onJoined = line === above + 1 ? before.length - (before.lastIndexOf('\n') + 1) : 0;
  return { ...finding, line: line - above, ...(column && { column: Math.max(1, column - onJoined) }) };
}
