/** A session's page as one file: how teddy makes it, and compares it with the repository. */
import { TeddyError } from '../../errors.ts';
import { renderSessionPage } from '../../page/render-page.ts';
import type { PageSource, SessionPage } from '../../page/session-page.ts';
import type { Project } from '../../ports/project.ts';
import { isOid, isSessionId, type Oid, type SessionId, type TurnName } from '../../names.ts';
import { findNearestEntry } from '../../session/entries/nearest-entry.ts';
import { parseObject } from '../../session/text/parse-object.ts';
import { findPageSource, readPage } from './read-page.ts';

interface PageFile {
  page: SessionPage;
  bytes: Uint8Array;
}

/** Makes the page. Throws the errors of `findPageSource` and `readPage`. */
export async function makePageFile(project: Project, selector: string | undefined, version: string): Promise<PageFile> {
  return renderPageFile(project, await findPageSource(project, selector), version);
}

/** Renders the page; the same source and version produce the same bytes. */
async function renderPageFile(project: Project, source: PageSource, version: string): Promise<PageFile> {
  const page = await readPage(project, source, { version, checks: true });
  return { page, bytes: new TextEncoder().encode(renderSessionPage(page, project.hash)) };
}

export interface VerifiedPage {
  /**
   * `other-version` means that another version of teddy made the page and may render other bytes, so teddy compared
   * nothing.
   */
  outcome: 'same' | 'different' | 'other-version';
  session: SessionId;
  /** The teddy version that the page names. */
  version: string;
  /** The commits used to make the page. */
  commits: Oid[];
  /** The first difference; null when there is none, or when teddy compared nothing. */
  difference: PageDifference | null;
}

interface PageDifference {
  /** The line of the file, from 1. */
  line: number;
  /** Null when the difference is before the first turn. */
  turn: TurnName | null;
  /** The link to the nearest part above the difference, such as `t02-a3`; null when there is none. */
  part: string | null;
  /** True when one of the two masks more secrets; the known secrets differ between machines. */
  hasMasks: boolean;
}

/**
 * Compares a page with the repository; `bytes` are the file's. Throws USAGE for a file that is not a page made by
 * teddy, UNKNOWN_COMMIT, and the errors of `readPage`.
 */
export async function verifyPageFile(
  project: Project,
  { name, bytes }: { name: string; bytes: Uint8Array },
  version: string,
): Promise<VerifiedPage> {
  const { source, version: own } = parseHead(new TextDecoder().decode(bytes.subarray(0, maxHead)), name);
  const commits = [...new Set([...source.lines.map(({ tip }) => tip), ...source.landed])];
  const about = { session: source.session, version: own, commits };
  if (own !== version) return { outcome: 'other-version', ...about, difference: null };
  await requireCommits(project, source);
  const { page, bytes: wanted } = await renderPageFile(project, source, version);
  const difference = findDifference(bytes, wanted, page);
  return { outcome: difference === null ? 'same' : 'different', ...about, difference };
}

/** In bytes; the head names the source. */
const maxHead = 4 * 1024 * 1024;
/** More than in any session. Limited because anybody may have made the page, and each line takes time. */
const maxLines = 2000;

function parseHead(head: string, name: string): { source: PageSource; version: string } {
  const made = /^git-teddy ([\w.+-]{1,100})$/.exec(readMeta(head, 'generator') ?? '')?.[1];
  const source = parseSource(unescape(readMeta(head, 'teddy-source') ?? ''));
  if (made !== undefined && source !== null) return { source, version: made };
  throw new TeddyError(
    'USAGE',
    `${name} is not a session page: its head does not say which commits it was made from.`,
    'Make one: `teddy export --html <file>`.',
  );
}

/** Returns null when the head does not contain the line. Searches once, from the beginning. */
function readMeta(head: string, name: string): string | null {
  const opening = `<meta name="${name}" content="`;
  const start = head.indexOf(opening);
  const end = start === -1 ? -1 : head.indexOf('"', start + opening.length);
  return end === -1 ? null : head.slice(start + opening.length, end);
}

const entities: Record<string, string> = { '&quot;': '"', '&#39;': "'", '&lt;': '<', '&gt;': '>', '&amp;': '&' };

function unescape(text: string): string {
  return text.replace(/&(?:quot|#39|lt|gt|amp);/g, (entity) => entities[entity] ?? entity);
}

/**
 * Keeps the same keys in the same order and drops anything else in the text, so that a page with additional content
 * differs.
 */
function parseSource(text: string): PageSource | null {
  const value: Partial<Record<keyof PageSource, unknown>> | null = parseObject(text);
  if (value === null) return null;
  const { session, line, lines, landed } = value;
  if (typeof session !== 'string' || !isSessionId(session) || typeof line !== 'string') return null;
  if (!Array.isArray(lines) || !Array.isArray(landed) || lines.length === 0) return null;
  if (Math.max(lines.length, landed.length) > maxLines) return null;
  const known = lines.map((one: unknown) => {
    const { name, tip } = (one ?? {}) as Record<string, unknown>;
    return typeof name === 'string' && typeof tip === 'string' && isOid(tip) ? { name, tip } : null;
  });
  const oids = landed.map((oid: unknown) => (typeof oid === 'string' && isOid(oid) ? oid : null));
  if (known.includes(null) || oids.includes(null)) return null;
  const shown = known.filter((one) => one !== null);
  if (new Set(shown.map(({ tip }) => tip)).size < shown.length) return null;
  return { session, line, lines: shown, landed: oids.filter((one) => one !== null) };
}

/** Checks that the commits exist and belong to the session, because the page walks only the session's lines. */
async function requireCommits(project: Project, { session, lines, landed }: PageSource): Promise<void> {
  const { store } = project.repository;
  for (const commit of [...lines.map(({ tip }) => tip), ...landed])
    if ((await store.resolve(commit)) === null)
      throw new TeddyError(
        'UNKNOWN_COMMIT',
        `The page was made from ${commit.slice(0, 10)}, a commit that this repository does not have.`,
        'Fetch the session from where the page was made: `teddy pull <remote>`. Then verify the page again.',
      );
  for (const { tip } of lines)
    if ((await findNearestEntry(project, tip, { mayLackFiles: true }))?.entry.session !== session)
      throw new TeddyError(
        'UNKNOWN_COMMIT',
        `The page was made from ${tip.slice(0, 10)}, which is not a commit in ${session}.`,
        'Make the page again: `teddy export --html <file>`.',
      );
}

function findDifference(found: Uint8Array, wanted: Uint8Array, { turns }: SessionPage): PageDifference | null {
  const length = Math.min(found.length, wanted.length);
  let at = 0;
  while (at < length && found[at] === wanted[at]) at += 1;
  if (at === found.length && at === wanted.length) return null;
  const before = new TextDecoder().decode(wanted.subarray(0, at));
  const part = / id="([\w-]{1,200})"/.exec(before.slice(Math.max(before.lastIndexOf(' id="'), 0)))?.[1] ?? null;
  const names = turns.map(({ turn }) => turn).filter((turn) => `${part}-`.startsWith(`t${turn}-`));
  return {
    line: before.split('\n').length,
    turn: names.toSorted((one, other) => other.length - one.length)[0] ?? null,
    part,
    hasMasks: countMasks(found) !== countMasks(wanted),
  };
}

function countMasks(bytes: Uint8Array): number {
  return new TextDecoder().decode(bytes).split('[masked: ').length;
}
