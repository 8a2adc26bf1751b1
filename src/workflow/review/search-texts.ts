/** Reads a turn's texts for a search, unmasked, each with its place. */
import { decodeTranscript } from '../../conversation/history/decode-transcript.ts';
import { toContentText } from '../../conversation/records/content-text.ts';
import type { TranscriptRecord } from '../../conversation/records/record.ts';
import { toText } from '../../view/view.ts';
import { userMessages } from '../../conversation/records/transcript.ts';
import { parseReportYaml } from '../../plan/report/report-logs.ts';
import type { Store, TreeChange, TreeEntry } from '../../ports/git.ts';
import type { SearchScope } from '../../session/text/text-pattern.ts';

export interface SearchedText {
  place: SearchScope;
  /** A heading for display: `Message`, `Plan`. */
  title: string;
  /** The file that contains these lines, in the turn or in the project. Null for a transcript record. */
  file: string | null;
  text: string;
  /** Values that `text` may contain in another form. */
  values?: string[];
  /** The lines to search; undefined for all. */
  only?: ReadonlySet<string>;
}

export interface SearchedTurn {
  texts: SearchedText[];
  /** The title of the turn's plan, or the beginning of its message; empty when the turn has neither. */
  title: string;
  /** The time of the turn's last record, in ISO 8601; empty when no record has a time. */
  time: string;
}

/** Reads the texts; `entries` is the turn's directory. */
export async function readSearchedTurn(
  store: Store,
  entries: readonly TreeEntry[],
  places: readonly SearchScope[],
): Promise<SearchedTurn> {
  const read = async (name: string) => {
    const found = entries.find((entry) => entry.name === name && isFile(entry));
    return found === undefined ? null : toText(await store.readBlob(found.oid));
  };
  const withReport = places.includes('report');
  const [transcript, plan, report, below] = await Promise.all([
    read('transcript.jsonl'),
    read('plan.md'),
    withReport ? read('report.md') : null,
    withReport ? readBelow(store, entries) : [],
  ]);
  const { records } = decodeTranscript(transcript ?? '');
  const texts = [
    ...records.flatMap(toTexts),
    ...(plan === null ? [] : [{ place: 'plan' as const, title: 'Plan', file: 'plan.md', text: plan }]),
    ...(report === null ? [] : [toReportText(report)]),
    ...below,
  ];
  return {
    texts: texts.filter(({ place, text }) => places.includes(place) && text !== ''),
    title: toTitle(plan, records),
    time: records.map(timeOf).reduce((latest, time) => (time > latest ? time : latest), ''),
  };
}

export function isFile({ mode }: Pick<TreeChange, 'mode'>): boolean {
  return mode === '100644' || mode === '100755';
}

/** Reads pages, and outputs too long for the report. */
async function readBelow(store: Store, entries: readonly TreeEntry[]): Promise<SearchedText[]> {
  const dirs = entries.filter(({ name, mode }) => mode === '40000' && /^(?:output|pages)$/.test(name));
  const read = async ({ name: dir, oid }: TreeEntry) => {
    const files = (await store.readTree(oid)).filter(isFile);
    return Promise.all(
      files.map(async (file): Promise<SearchedText> => {
        const text = toText(await store.readBlob(file.oid));
        return { place: 'report', title: 'Report', file: `${dir}/${file.name}`, text };
      }),
    );
  };
  return (await Promise.all(dirs.map(read))).flat();
}

function toTexts(record: TranscriptRecord): SearchedText[] {
  const toText = (place: SearchScope, title: string, text: string) => ({ place, title, file: null, text });
  switch (record.type) {
    case 'user':
      return toSaid('message', record.source === 'voice_transcription' ? 'Message (spoken)' : 'Message', record);
    case 'assistant':
    case 'assistant_partial':
      return toSaid('answer', record.source === 'voice_response' ? 'Reply (spoken)' : 'Reply', record);
    case 'approval':
      return [record.text ?? '', ...record.comments.map(({ text }) => text)].map((text) =>
        toText('message', 'Verdict', text),
      );
    case 'tool_use':
      return listTexts(record.tool_input).map((text) => toText('report', 'Tool call', text));
    case 'tool_result':
      return [toText('report', 'Result', toContentText(record.output).text)];
    default:
      return [];
  }
}

/** Omits the turn's files, which the search covers separately. */
function toSaid(
  place: SearchScope,
  title: string,
  { message }: { message: { content: string } | { file: string } },
): SearchedText[] {
  return 'content' in message ? [{ place, title, file: null, text: message.content }] : [];
}

function toReportText(report: string): SearchedText {
  return { place: 'report', title: 'Report', file: 'report.md', text: report, values: listValues(report) };
}

/** Returns no values for a damaged report; the search covers its lines anyway. */
function listValues(report: string): string[] {
  try {
    return listTexts(parseReportYaml(report));
  } catch {
    return [];
  }
}

/** Lists every text in a value, at any depth. */
function listTexts(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(listTexts) : [];
}

function toTitle(plan: string | null, records: readonly TranscriptRecord[]): string {
  const heading = /^#[ \t]+(\S.*)$/m.exec(plan ?? '')?.[1];
  const message = userMessages(records).flatMap((text) => /\S.*/.exec(text) ?? [])[0];
  return (heading ?? message ?? '').trim();
}

function timeOf(record: TranscriptRecord): string {
  if (record.type === 'other' || Number.isNaN(Date.parse(record.timestamp))) return '';
  return new Date(record.timestamp).toISOString();
}
