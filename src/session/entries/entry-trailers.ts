/** Decides from a commit's message whether it is an entry, somebody else's commit, or a forgery. */
import {
  decodeEntry,
  entryKinds,
  foreignForm,
  lastParagraph,
  maxTrailersLength,
  tokensForm,
  verdicts,
  type Entry,
  type EntryKind,
} from './entry.ts';
import type { Ident } from '../../ports/git.ts';
import { formatCount } from '../text/format-count.ts';
import { entryMs, identSeconds } from './logged-entry.ts';
import { isOid, isSessionId, isTurnName } from '../../names.ts';

export interface CheckedMessage {
  /** Null when teddy does not read the commit as an entry. */
  entry: Entry | null;
  /** The problems in full sentences; empty for a commit that does not claim to be an entry. */
  problems: string[];
}

/** A commit that lacks one of these is not an entry; a commit with any of them claims to be one. */
const marks = ['Session', 'Entry', 'Entry-Id', 'Format'];
const labels = [
  'Turn',
  'Created',
  'Base-Branch',
  'Agent',
  'Provider',
  'Model',
  'Tokens',
  'Cost',
  'Status',
  'Verdict',
  'Sha256',
  'Import-Format',
  'Foreign',
  'Head',
];
const ofWrites = ['Write-Session', 'Intent', 'Validation'];
const known = [...marks, ...labels, ...ofWrites];
/** Trailers on commits outside any line; an entry never has them. */
const foreign = ['Landed-From', 'During'];
const spellings = new Map([...known, ...foreign].map((name) => [name.toLowerCase(), name]));

/** Checks a message; `entry` is the decoded message. */
export function checkMessage(message: string, entry: Entry | null = decodeEntry(message)): CheckedMessage {
  const last = lastParagraph(message);
  if (last.length > maxTrailersLength) return { entry: null, problems: checkLong(last) };
  const trailers = listTrailers(last);
  if (!trailers.some(({ folded }) => marks.includes(spellings.get(folded) ?? ''))) return { entry: null, problems: [] };
  const problems = [
    ...checkKeys(trailers),
    ...checkPresence(trailers),
    ...trailers.flatMap(({ key, value }) => checkValue(key, value)),
    ...(entry === null ? [] : [...checkKind(entry), ...checkTimes(entry)]),
    // teddy's labels never contain control characters.
    ...(/[^\P{Cc}\n]|[\u202A-\u202E\u2066-\u2069]/u.test(message) ? ['Its message has control characters.'] : []),
  ];
  if (entry === null && problems.length === 0) problems.push('Its trailers do not form an entry.');
  return { entry, problems };
}

interface Trailer {
  key: string;
  /** The key in lower case, because git ignores the case of keys. */
  folded: string;
  value: string;
}

/** Reports overlong trailers if they claim to be an entry; other paragraphs of this length do not count as trailers. */
function checkLong(last: string): string[] {
  const claims = /^teddy-(?:session|entry|entry-id|format)[ \t]*:/im.test(last);
  const [has, may] = [formatCount(last.length), formatCount(maxTrailersLength)];
  return claims ? [`Its trailers have ${has} characters, but an entry's trailers have at most ${may}.`] : [];
}

/** Reads the trailers of the last paragraph as git and teddy do. */
function listTrailers(last: string): Trailer[] {
  return last.split('\n').flatMap((line) => {
    const match = /^teddy-([A-Za-z0-9-]+)\s*:(.*)$/i.exec(line);
    const [, key = '', value = ''] = match ?? [];
    return match ? [{ key, folded: key.toLowerCase(), value: value.trim() }] : [];
  });
}

function checkKeys(trailers: readonly Trailer[]): string[] {
  const counts = new Map<string, number>();
  for (const { folded } of trailers) counts.set(folded, (counts.get(folded) ?? 0) + 1);
  return [...counts].flatMap(([folded, count]) => {
    const name = spellings.get(folded);
    if (name === undefined) return [];
    if (foreign.includes(name)) return [`It has the trailer Teddy-${name}, which no entry has.`];
    const odd = trailers.filter((trailer) => trailer.folded === folded && trailer.key !== name);
    return [
      ...(count > 1 ? [`The trailer Teddy-${name} appears more than once.`] : []),
      ...odd.map(({ key }) => `The trailer Teddy-${key} is not spelled the way teddy spells it.`),
    ];
  });
}

function checkPresence(trailers: readonly Trailer[]): string[] {
  const missing = [...marks, 'Created'].filter((name) => !trailers.some(({ key }) => key === name));
  return missing.map((name) => `It has an entry's trailers but lacks Teddy-${name}.`);
}

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The form that each key's value must have; all other keys are labels. */
const rules: Record<string, (value: string) => boolean> = {
  Session: isSessionId,
  Entry: (value) => entryKinds.some((kind) => kind === value),
  'Entry-Id': (value) => uuid7.test(value),
  Format: (value) => value === '1',
  Turn: isTurnName,
  Created: isTime,
  Tokens: (value) => tokensForm.test(value),
  Cost: (value) => /^\d{1,9}(?:\.\d{1,8})?$/.test(value),
  Status: (value) => /^[A-Z_]+$/.test(value),
  Verdict: (value) => verdicts.some((word) => word === value),
  Sha256: (value) => /^[0-9a-f]{64}$/.test(value),
  Foreign: (value) => foreignForm.test(value),
  Head: isOid,
};

function checkValue(key: string, value: string): string[] {
  const isRight = Object.hasOwn(rules, key) ? rules[key] : undefined;
  return isRight === undefined || isRight(value)
    ? []
    : [`The trailer Teddy-${key} cannot be ${JSON.stringify(value.slice(0, 100))}.`];
}

function isTime(value: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/.test(value) && !Number.isNaN(Date.parse(value));
}

/** The accepted difference between the clocks of different machines. */
export const dayMs = 24 * 60 * 60 * 1000;

/** Checks the time at the beginning of an ID: a `start` is made when the session is created. */
function checkTimes(entry: Entry): string[] {
  const afterMs = entryMs(entry) - Date.parse(entry.created);
  return entry.kind === 'start' && afterMs > dayMs ? ['Its id was made long after the session was created.'] : [];
}

/**
 * Judges an ID that is older than its session. The ID is a forgery, unless the commit is equally old: in that case, a
 * clock was set back or had been ahead. Returns null when the ID is not older.
 */
export function classifyEarlyId(entry: Entry, { author, committer }: Ident): 'forged' | 'set-back' | null {
  const madeMs = entryMs(entry);
  if (!(madeMs < Date.parse(entry.created) - dayMs)) return null;
  const isThen = (ident: string) => Math.abs(identSeconds(ident) * 1000 - madeMs) <= dayMs;
  return isThen(author) || isThen(committer) ? 'set-back' : 'forged';
}

const withoutTurn: readonly EntryKind[] = ['start'];
const mayLackTurn: readonly EntryKind[] = ['start', 'snapshot', 'write'];
const withSha256: readonly EntryKind[] = ['plan', 'report', 'write', 'approval'];
export const runStatuses = ['SUCCESS', 'FAILURE', 'VALIDATION_FAILED', 'SKIPPED', 'ABORTED'] as const;
export type RunStatus = (typeof runStatuses)[number];

function checkKind({ kind, turn, sha256, importFormat, status, verdict, write, foreign, head }: Entry): string[] {
  return [
    ...(turn === null && !mayLackTurn.includes(kind) ? [`An entry of kind ${kind} must name its turn.`] : []),
    ...(turn !== null && withoutTurn.includes(kind) ? [`An entry of kind ${kind} must not name a turn.`] : []),
    ...(importFormat !== undefined && kind !== 'start'
      ? [`An entry of kind ${kind} must not have a Teddy-Import-Format.`]
      : []),
    ...(foreign !== undefined && kind !== 'start' && kind !== 'branch'
      ? [`An entry of kind ${kind} must not have a Teddy-Foreign.`]
      : []),
    ...(head !== undefined && kind !== 'snapshot' ? [`An entry of kind ${kind} must not have a Teddy-Head.`] : []),
    ...(sha256 === undefined && withSha256.includes(kind)
      ? [`An entry of kind ${kind} must have a Teddy-Sha256.`]
      : []),
    ...(kind === 'report' && !runStatuses.some((known) => known === status)
      ? ['A report must say how its run ended.']
      : []),
    ...((kind === 'approval') === (verdict === undefined)
      ? ['Approval entries must have a Teddy-Verdict; other entries must not.']
      : []),
    ...((kind === 'write') === (write === undefined)
      ? ['Write entries must name a write session; other entries must not.']
      : []),
  ];
}
