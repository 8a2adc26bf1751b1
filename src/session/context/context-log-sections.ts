/** The sections of `_context.log`, and the marker lines that state the origin of the text below them. */
import type { FileSource, ShownFile, NotShownReason } from './context-files.ts';
import { fenceLanguage, renderFenced } from '../text/fenced-text.ts';
import type { Oid } from '../../names.ts';
import { parsePathWord, renderPathWord } from '../paths/paths.ts';
import { estimateTokens } from '../text/tokens.ts';

/** A text's source. `builtin` is a prompt that ships with teddy, identified by the sha256 of its text. */
type Source = FileSource | { kind: 'builtin'; sha: string };

export interface SourcedText {
  text: string;
  source: Source;
  /** The number of masked secrets in the text. */
  masked: number;
}

/** The section names, in the order of a request. */
export const sectionNames = ['system', 'memos', 'history', 'tree', 'file', 'message'] as const;
type SectionName = (typeof sectionNames)[number];

/** The origin of a section's text, or the reason why it has none. */
type Provenance =
  /** `source` is null for text derived from the line itself: history, tree and message. */
  | {
      kind: 'shown';
      source: Source | null;
      lossy: boolean;
      /** Only in a history: teddy cut bodies longer than this many tokens down to their beginning and end. */
      clipped?: number;
      masked: number;
    }
  | { kind: 'not-shown'; bytes: number; reason: NotShownReason }
  | { kind: 'refused'; reason: string }
  | { kind: 'missing' };

export interface LogSection {
  name: SectionName;
  /** The path or URL of a file; null for any other section. */
  path: string | null;
  provenance: Provenance;
  /** The bytes between this section's marker line and the next. */
  body: string;
}

export function systemSection({ text, source, masked }: SourcedText): LogSection {
  return { name: 'system', path: null, provenance: shown(source, masked), body: endLine(text) };
}

export function memosSection({ text, source, masked }: SourcedText): LogSection {
  return { name: 'memos', path: null, provenance: shown(source, masked), body: renderFenced(text, 'yaml') };
}

export interface HistoryText {
  text: string;
  masked: number;
  /** The limit passed to `clipPart`; undefined when no body was clipped. */
  clipped?: number | undefined;
}

export function historySection({ text, masked, clipped }: HistoryText): LogSection {
  const provenance = { ...shown(null, masked), ...(clipped === undefined ? {} : { clipped }) };
  return { name: 'history', path: null, provenance, body: endLine(text) };
}

export function treeSection({ text, masked }: { text: string; masked: number }): LogSection {
  return { name: 'tree', path: null, provenance: shown(null, masked), body: renderFenced(text) };
}

/** Makes the last section: its body is the user's message, unchanged. */
export function messageSection(message: string): LogSection {
  return { name: 'message', path: null, provenance: shown(null, 0), body: message };
}

export function fileSection(file: ShownFile): LogSection {
  const { path } = file;
  if (file.kind === 'missing') return { name: 'file', path, provenance: { kind: 'missing' }, body: missingBody };
  if (file.kind === 'refused') {
    const { kind, reason } = file;
    return { name: 'file', path, provenance: { kind, reason }, body: `${notShown}${reason}.\n` };
  }
  if (file.kind === 'not-shown') {
    const { kind, bytes, reason } = file;
    return { name: 'file', path, provenance: { kind, bytes, reason }, body: `${notShown}${reasonTexts[reason]}.\n` };
  }
  const { source, lossy, masked } = file;
  const provenance: Provenance = { kind: 'shown', source, lossy, masked };
  return { name: 'file', path, provenance, body: renderFenced(file.text, fenceLanguage(path)) };
}

/** Renders the marker line after the boundary: `file src/app.ts blob <oid> masked 2`. It is one line without `<` and `>`. */
export function renderLabel({ name, path, provenance }: LogSection): string {
  const state = renderProvenance(provenance);
  return [name, ...(path === null ? [] : [renderPathWord(path)]), ...(state === '' ? [] : [state])].join(' ');
}

/** Parses a marker line and the bytes below it; null when no section has this line and these bytes. */
export function parseSection(label: string, body: string): LogSection | null {
  const [, word = '', rest = ''] = /^(\S+) ?(.*)$/s.exec(label) ?? [];
  const name = sectionNames.find((known) => known === word);
  if (name === undefined) return null;
  const named = name === 'file' ? parsePathWord(rest) : { path: null, rest };
  const provenance = named && parseProvenance(named.rest, body);
  if (!named || !provenance || !belongs(name, provenance)) return null;
  const section: LogSection = { name, path: named.path, provenance, body };
  // Each line has only one valid spelling, so rendering loses nothing.
  return renderLabel(section) === label ? section : null;
}

/**
 * Estimates the tokens, including the marker line. The boundary does not affect the estimate, so it does not affect
 * which sections fit.
 */
export function countTokens(section: LogSection): number {
  return estimateTokens(`<!-- teddy-00000000 ${renderLabel(section)} -->\n${section.body}`);
}

/** Returns the limit, in tokens, to which the history's bodies were clipped; undefined when none was. */
export function clippedTo(sections: readonly LogSection[]): number | undefined {
  const history = sections.find(({ name }) => name === 'history');
  return history?.provenance.kind === 'shown' ? history.provenance.clipped : undefined;
}

export function countMasked(sections: readonly LogSection[]): number {
  return sections.reduce((sum, { provenance }) => sum + (provenance.kind === 'shown' ? provenance.masked : 0), 0);
}

const missingBody = 'Missing: the project has no such file.\n';
const notShown = 'Not shown: ';
const reasonTexts: Record<NotShownReason, string> = {
  binary: 'it is binary',
  large: 'it is large',
  budget: 'it does not fit the budget',
};

function shown(source: Source | null, masked: number): Provenance & { kind: 'shown' } {
  return { kind: 'shown', source, lossy: false, masked };
}

function renderProvenance(provenance: Provenance): string {
  if (provenance.kind === 'not-shown') return `not-shown ${provenance.bytes} bytes`;
  if (provenance.kind !== 'shown') return provenance.kind;
  const { source, lossy, clipped, masked } = provenance;
  return [
    ...(source === null ? [] : [renderSource(source)]),
    ...(lossy ? ['not-utf8'] : []),
    ...(clipped === undefined ? [] : [`clipped ${clipped}`]),
    ...(masked > 0 ? [`masked ${masked}`] : []),
  ].join(' ');
}

function renderSource(source: Source): string {
  if (source.kind === 'blob') return `blob ${source.oid}`;
  return source.kind === 'builtin' ? `builtin ${source.sha}` : 'stored';
}

function parseProvenance(text: string, body: string): Provenance | null {
  if (text === 'missing') return body === missingBody ? { kind: 'missing' } : null;
  if (text === 'refused') {
    const reason = parseReason(body);
    return reason === null ? null : { kind: 'refused', reason };
  }
  const size = /^not-shown (\d+) bytes$/.exec(text)?.[1];
  if (size !== undefined) return parseNotShown(Number(size), parseReason(body));
  const found = /^(?:(blob|builtin) ([0-9a-f]+)|(stored))? ?(not-utf8)? ?(?:clipped (\d+))? ?(?:masked (\d+))?$/.exec(
    text,
  );
  if (!found) return null;
  const [, kind, id = '', stored, lossy, clipped, masked = '0'] = found;
  const source = stored ? { kind: 'stored' as const } : parseSource(kind, id);
  const cut = clipped === undefined ? {} : { clipped: Number(clipped) };
  return { kind: 'shown', source, lossy: lossy !== undefined, ...cut, masked: Number(masked) };
}

function parseSource(kind: string | undefined, id: string): Source | null {
  if (kind === undefined) return null;
  return kind === 'blob' ? { kind, oid: id as Oid } : { kind: 'builtin', sha: id };
}

function parseNotShown(bytes: number, text: string | null): Provenance | null {
  const reason = (Object.keys(reasonTexts) as NotShownReason[]).find((known) => reasonTexts[known] === text);
  return reason === undefined ? null : { kind: 'not-shown', bytes, reason };
}

function parseReason(body: string): string | null {
  return body.startsWith(notShown) && body.endsWith('.\n') && body.length >= notShown.length + 2
    ? body.slice(notShown.length, -2)
    : null;
}

/**
 * Returns true if a section may have this provenance. Only files may be absent. Prompt, memos and files have a source;
 * the other sections are derived from the line.
 */
function belongs(name: SectionName, provenance: Provenance): boolean {
  if (provenance.kind !== 'shown') return name === 'file';
  const isDerived = name === 'history' || name === 'tree' || name === 'message';
  const isClipped = provenance.clipped !== undefined;
  return (
    isDerived === (provenance.source === null) &&
    (name === 'file' || !provenance.lossy) &&
    (name === 'history' || !isClipped)
  );
}

export function endLine(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
