/** An entry is one durable step of a session, stored as exactly one commit. Its message is a label, never content. */
import { isSessionId, isTurnName, type SessionId, type TurnName } from '../../names.ts';

export const entryKinds = [
  'start',
  'snapshot',
  'message',
  'exchange',
  'plan',
  'reply',
  'memo',
  'write',
  'report',
  'branch',
  'undo',
  'approval',
] as const;
export type EntryKind = (typeof entryKinds)[number];

/** Returns true if an entry of this kind may come at any time after its turn has ended. */
export function mayFollowTurn(kind: EntryKind | undefined): boolean {
  return kind === 'undo' || kind === 'approval';
}

/** Token counts from the endpoint. */
export interface Tokens {
  /** All input tokens, cached or not. */
  input: number;
  /** All output tokens, including reasoning. */
  output: number;
  /** The input tokens read from the endpoint's cache; absent when there were none or the endpoint reported none. */
  cached?: number;
  /** The output tokens that the model used for reasoning; absent under the same conditions as `cached`. */
  reasoning?: number;
}

/** The verdicts on a plan. `none`: a gate ended without the user's verdict, and the agent itself went on asking. */
export const verdicts = ['approved', 'rejected', 'none'] as const;
export type VerdictWord = (typeof verdicts)[number];

export interface Entry {
  kind: EntryKind;
  session: SessionId;
  /** Null on a `start`, and on a snapshot taken before a message. */
  turn: TurnName | null;
  /** A UUID v7, which survives rebase and cherry-pick. */
  id: string;
  /** When the session started, in ISO 8601. */
  created: string;
  /** One line that describes the step. */
  title: string;
  /** At most ten more lines. */
  details: string[];
  baseBranch?: string;
  agent?: string;
  provider?: string;
  model?: string;
  tokens?: Tokens;
  /** The cost in US dollars, if the endpoint reported it. */
  costUsd?: number;
  /** The status of the run, on a report; PARTIAL, RECOVERED, REDONE or PARTLY_REDONE on other entries. */
  status?: string;
  /** The verdict on a plan, on an approval. */
  verdict?: VerdictWord;
  /** The sha256, in hex, of the entry's file. */
  sha256?: string;
  /** The format of an imported session's source, on the session's start. */
  importFormat?: string;
  /** The other agent's name and its own ID for this line's session, on a start and a branch. */
  foreign?: { agent: string; id: string };
  /** The commit at the user's HEAD when a captured line does not follow HEAD, on a snapshot. */
  head?: string;
  /** The write session's ID, its intent, and how teddy checked its content, on a write. */
  write?: { id: string; intent: string; validation: string };
}

const format = '1';
/** The limits of a label: characters in the title, number of detail lines, and characters in each detail. */
export const labelLimits = { title: 72, details: 10, detail: 100 };

/** Encodes the commit message: label, details, trailers. */
export function encodeEntry(entry: Entry): string {
  const subject =
    `${entry.turn === null ? '' : `turn ${entry.turn} `}${entry.kind}: ${toLabel(entry.title, labelLimits.title)}`.trimEnd();
  const details = entry.details
    .slice(0, labelLimits.details)
    .map((line) => indentTrailer(toLabel(line, labelLimits.detail)));
  const trailers = toTrailers(entry).map(([key, value]) => `Teddy-${key}: ${toLabel(value, 1000)}`);
  return (
    [subject, ...(details.some((line) => line !== '') ? [details.join('\n')] : []), trailers.join('\n')].join('\n\n') +
    '\n'
  );
}

function toTrailers(entry: Entry): [key: string, value: string][] {
  const optional = (key: string, value: string | undefined): [string, string][] =>
    value === undefined ? [] : [[key, value]];
  return [
    ['Session', entry.session],
    ['Entry', entry.kind],
    ...optional('Turn', entry.turn ?? undefined),
    ['Entry-Id', entry.id],
    ['Created', entry.created],
    ...optional('Base-Branch', entry.baseBranch),
    ...optional('Agent', entry.agent),
    ...optional('Provider', entry.provider),
    ...optional('Model', entry.model),
    ...optional('Tokens', entry.tokens && renderTokens(entry.tokens)),
    ...optional('Cost', entry.costUsd === undefined ? undefined : toDecimal(entry.costUsd)),
    ...optional('Status', entry.status),
    ...optional('Verdict', entry.verdict),
    ...optional('Write-Session', entry.write?.id),
    ...optional('Intent', entry.write?.intent),
    ...optional('Sha256', entry.sha256),
    ...optional('Import-Format', entry.importFormat),
    ...optional('Validation', entry.write?.validation),
    ...optional('Foreign', entry.foreign && `${entry.foreign.agent} ${entry.foreign.id}`),
    ...optional('Head', entry.head),
    ['Format', format],
  ];
}

/** Decodes a commit message; null for the user's own commits, landings and entries in a later format. */
export function decodeEntry(message: string): Entry | null {
  const trailers = readTrailers(message);
  const kind = entryKinds.find((known) => known === trailers.get('Entry'));
  const session = trailers.get('Session') ?? '';
  const turn = trailers.get('Turn') ?? null;
  const id = trailers.get('Entry-Id');
  const verdict = verdicts.find((word) => word === trailers.get('Verdict'));
  if (kind === undefined || id === undefined || !isSessionId(session) || trailers.get('Format') !== format) return null;
  if (turn !== null && !isTurnName(turn)) return null;
  const [subject = '', ...rest] = message.trimEnd().split('\n\n');
  const details = rest.slice(0, -1).join('\n\n');
  const optional = <Key extends string>(key: Key, trailer: string) => {
    const value = trailers.get(trailer);
    return (value === undefined ? {} : { [key]: value }) as { [name in Key]?: string };
  };
  return {
    kind,
    session,
    turn,
    id,
    created: trailers.get('Created') ?? '',
    title: subject.replace(/^(?:turn \S+ )?[a-z]+:\s?/, ''),
    details: details === '' ? [] : details.split('\n').map(unindentTrailer),
    ...optional('baseBranch', 'Base-Branch'),
    ...optional('agent', 'Agent'),
    ...optional('provider', 'Provider'),
    ...optional('model', 'Model'),
    ...readTokens(trailers.get('Tokens')),
    ...readCost(trailers.get('Cost')),
    ...optional('status', 'Status'),
    ...(verdict === undefined ? {} : { verdict }),
    ...optional('sha256', 'Sha256'),
    ...optional('importFormat', 'Import-Format'),
    ...readWrite(trailers),
    ...readForeign(trailers.get('Foreign')),
    ...optional('head', 'Head'),
  };
}

/** Matches `3641/512 cached=3200 reasoning=128`; earlier versions wrote only the first two numbers. */
export const tokensForm = /^(\d+)\/(\d+)(?: cached=([1-9]\d*))?(?: reasoning=([1-9]\d*))?$/;

function renderTokens({ input, output, cached = 0, reasoning = 0 }: Tokens): string {
  const more = [...(cached > 0 ? [`cached=${cached}`] : []), ...(reasoning > 0 ? [`reasoning=${reasoning}`] : [])];
  return [`${input}/${output}`, ...more].join(' ');
}

function readTokens(text: string | undefined): Pick<Entry, 'tokens'> {
  const [whole, input, output, cached, reasoning] = tokensForm.exec(text ?? '') ?? [];
  if (whole === undefined) return {};
  return {
    tokens: {
      input: Number(input),
      output: Number(output),
      ...(cached === undefined ? {} : { cached: Number(cached) }),
      ...(reasoning === undefined ? {} : { reasoning: Number(reasoning) }),
    },
  };
}

/** Writes the amount without an exponent, to a millionth of a cent. */
function toDecimal(amount: number): string {
  return amount.toFixed(8).replace(/\.?0+$/, '');
}

function readCost(text: string | undefined): Pick<Entry, 'costUsd'> {
  return text !== undefined && /^\d{1,9}(?:\.\d{1,8})?$/.test(text) ? { costUsd: Number(text) } : {};
}

function readWrite(trailers: Map<string, string>): Pick<Entry, 'write'> {
  const id = trailers.get('Write-Session');
  if (id === undefined) return {};
  return { write: { id, intent: trailers.get('Intent') ?? '', validation: trailers.get('Validation') ?? '' } };
}

/** Matches `claude-code 5f2b5a10-...`; the agent's name contains no space. */
export const foreignForm = /^([a-z][a-z0-9-]{0,30}) (\S{1,200})$/;

function readForeign(text: string | undefined): Pick<Entry, 'foreign'> {
  const [, agent, id] = foreignForm.exec(text ?? '') ?? [];
  return agent === undefined || id === undefined ? {} : { foreign: { agent, id } };
}

/** The limit for all trailers together, in characters; each trailer is a label of one line. */
export const maxTrailersLength = 65_536;

export function lastParagraph(message: string): string {
  const text = message.trimEnd();
  const above = text.lastIndexOf('\n\n');
  return above === -1 ? text : text.slice(above + 2);
}

/** Reads the last paragraph's trailers, as git does. A key's first value counts, so appending overrides nothing. */
function readTrailers(message: string): Map<string, string> {
  const last = lastParagraph(message);
  const trailers = new Map<string, string>();
  if (last.length > maxTrailersLength) return trailers;
  for (const line of last.split('\n')) {
    const match = /^Teddy-([A-Za-z0-9-]+): (.*)$/.exec(line);
    if (match?.[1] !== undefined && match[2] !== undefined && !trailers.has(match[1]))
      trailers.set(match[1], match[2].trimEnd());
  }
  return trailers;
}

/** Makes one line without control characters or bidirectional overrides, cut at `max` characters. */
export function toLabel(text: string, max: number): string {
  const line = text.replace(/[\p{Cc}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]+/gu, ' ').trim();
  const characters = [...line];
  return characters.length <= max
    ? line
    : `${characters
        .slice(0, max - 1)
        .join('')
        .trimEnd()}…`;
}

const trailerLike = /^\s*(?:[A-Za-z0-9-]+\s*:|\(cherry picked from)/;

function indentTrailer(line: string): string {
  return trailerLike.test(line) ? `  ${line}` : line;
}

function unindentTrailer(line: string): string {
  return line.startsWith('  ') && trailerLike.test(line) ? line.slice(2) : line;
}
