/** A turn's request, section by section; refers to sections in earlier requests, and to texts that the page shows elsewhere. */
import { nullIfDamaged } from '../../errors.ts';
import type { Hash } from '../../ports/project.ts';
import { countTokens, renderLabel, type LogSection } from '../../session/context/context-log-sections.ts';
import { parseContextLog, type ParsedContextLog } from '../../session/context/context-log-parse.ts';
import { renderPatch } from '../../plan/match/diff.ts';
import { estimateTokens } from '../../session/text/tokens.ts';
import type { Oid, TurnName } from '../../names.ts';
import type { PageRequest, PageSection, PageText } from '../../page/session-page.ts';
import { countBytes } from '../../session/text/bytes.ts';

interface GivenRequest {
  /** The turn's name on the page. */
  turn: TurnName;
  commit: Oid;
  command: string;
  log: string;
  /** Returns the page's name for a turn on the same line. */
  find(name: string): TurnName | null;
  cut(text: string): Promise<PageText>;
}

export interface RequestReader {
  /** Remembers a turn's rendered history, so that later requests can refer to it. */
  keep(turn: TurnName, rendered: string): void;
  read(request: GivenRequest): Promise<PageRequest>;
}

type Piece = Pick<PageSection, 'name' | 'of' | 'tokens' | 'marker'> & { text: string; section: LogSection | null };

/** Opens a reader; the caller has to read requests in page order. Keeps only the requests' hashes. */
export function openRequests(hash: Hash): RequestReader {
  const seen = new Map<string, { turn: TurnName; section: number }>();
  const told = new Map<TurnName, string>();
  const bases = openBases();

  async function toBody(piece: Piece, at: number, { turn, find, cut }: GivenRequest): Promise<PageSection['body']> {
    const { name, of, text, marker } = piece;
    const shown = name === 'history' && of !== null ? find(of) : null;
    if (shown !== null && isSame(told.get(shown), text)) return { kind: 'turn', turn: shown };
    const key = hash(`${name}\0${of}\0${marker}\0${text}`);
    const known = seen.get(key);
    if (known !== undefined && known.turn !== turn) return { kind: 'same', ...known };
    const place = { turn, section: at };
    seen.set(key, place);
    const shownText = await cut(text);
    return bases.describe(`${name}\0${of}`, place, shownText);
  }

  /** Ignores the newline that joins the turns of a history. */
  function isSame(expected: string | undefined, text: string): boolean {
    return expected !== undefined && [text, text.slice(0, -1)].some((body) => hash(body) === expected);
  }

  return {
    keep: (turn, rendered) => void told.set(turn, hash(rendered)),
    async read(request) {
      const { commit, command, log } = request;
      const parsed = parseOrNull(log);
      const pieces = parsed === null ? [] : split(log, parsed);
      const sections: PageSection[] = [];
      for (const [at, piece] of pieces.entries()) {
        const { name, tokens, text, section, marker } = piece;
        const of = piece.of === null ? null : (await request.cut(piece.of)).text;
        const { state, reason } = toState(section);
        const why = reason === null ? null : (await request.cut(reason)).text;
        const body = await toBody(piece, at, request);
        sections.push({
          name,
          of,
          state,
          reason: why,
          tokens,
          bytes: countBytes(`${marker ?? ''}${text}`),
          // The marker contains the path.
          marker: marker === null ? null : (await request.cut(marker)).text,
          body,
        });
      }
      const { tokens = 0, masked = 0, parameters = null } = parsed?.frontMatter ?? {};
      return { commit, command, tokens, bytes: countBytes(log), masked, sections, parameters };
    },
  };
}

interface Base {
  place: { turn: TurnName; section: number };
  text: string;
}

/** The number of characters in earlier texts to keep for comparison. */
const maxHeld = 32 * 1024 * 1024;
/** The page shows a shorter text in full, and also a text that differs in more lines. */
const minCompared = 1_000;
const maxChangedLines = 200;

/** Keeps earlier texts for comparison: lists of files grow line by line, and each turn would otherwise repeat them. */
function openBases() {
  const known = new Map<string, Base>();
  let held = 0;
  return {
    describe(key: string, place: Base['place'], text: PageText): PageSection['body'] {
      const base = known.get(key);
      const patch = base === undefined ? null : renderPatch(base.text, text.text, { context: 1, maxChangedLines });
      if (base !== undefined && patch !== null && text.cut === null && patch.length * 4 < text.text.length)
        return { kind: 'diff', ...base.place, patch: { text: patch, cut: null } };
      const more = text.text.length - (base?.text.length ?? 0);
      if (text.cut === null && text.text.length >= minCompared && held + more <= maxHeld) {
        known.set(key, { place, text: text.text });
        held += more;
      }
      return { kind: 'text', text };
    },
  };
}

function parseOrNull(log: string): ParsedContextLog | null {
  try {
    return parseContextLog(log);
  } catch (error) {
    return nullIfDamaged(error);
  }
}

function split(log: string, { sections, frontMatter }: ParsedContextLog): Piece[] {
  const front = log.slice(0, log.indexOf('\n---\n', 3) + '\n---\n'.length);
  return [
    { name: 'front-matter', of: null, tokens: 0, marker: null, text: front, section: null },
    ...sections.flatMap((section): Piece[] => {
      const { name, path: of, body } = section;
      const marker = `<!-- ${frontMatter.boundary} ${renderLabel(section)} -->\n`;
      if (name !== 'history') return [{ name, of, tokens: countTokens(section), marker, text: body, section }];
      return splitHistory(body).map((piece, at) => {
        return { name, ...piece, tokens: estimateTokens(piece.text), marker: at === 0 ? marker : null, section };
      });
    }),
  ];
}

/**
 * Splits a history at its turns' headings outside fences. The text before the first heading names the omitted turns.
 */
function splitHistory(body: string): { of: string | null; text: string }[] {
  const pieces: { of: string | null; text: string }[] = [];
  let [from, fence, of]: [number, string | null, string | null] = [0, null, null];
  const end = (at: number) => void (at > from && pieces.push({ of, text: body.slice(from, at) }));
  for (let at = 0; at < body.length;) {
    const newline = body.indexOf('\n', at);
    const next = newline === -1 ? body.length : newline + 1;
    const line = body.slice(at, newline === -1 ? next : newline);
    const turn = fence === null ? /^## Turn (\d{2,}(?:-branch-\d{2,})?)$/.exec(line)?.[1] : undefined;
    if (fence !== null) fence = line === fence ? null : fence;
    else if (turn === undefined) fence = /^(`{3,})\w*$/.exec(line)?.[1] ?? null;
    else {
      end(at);
      [from, of] = [at, turn];
    }
    at = next;
  }
  end(body.length);
  return pieces;
}

const reasons = { binary: 'it is binary', large: 'it is large', budget: 'it does not fit the budget' };

function toState(section: LogSection | null): Pick<PageSection, 'state' | 'reason'> {
  const provenance = section?.provenance ?? { kind: 'shown' };
  if (provenance.kind === 'not-shown') return { state: 'not-shown', reason: reasons[provenance.reason] };
  if (provenance.kind === 'refused') return { state: 'refused', reason: provenance.reason };
  return { state: provenance.kind, reason: null };
}
