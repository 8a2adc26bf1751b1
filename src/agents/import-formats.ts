/** The formats that `teddy import` reads: agents' logs, and conversations that do not belong to an agent. */
import { saidTypes } from '../conversation/records/decode-record.ts';
import { openJsonlImporter, openOpenaiImporter } from '../conversation/logs/import-plain.ts';
import { openAgentReader } from '../conversation/logs/agent-reader.ts';
import { openClosedLog } from '../conversation/logs/closed-log.ts';
import type { ImportOptions } from '../conversation/logs/importer.ts';
import type { MeasuredImporter } from '../conversation/logs/import-context.ts';
import { openLines, readObjects } from '../conversation/logs/import-lines.ts';
import { asText, fieldsOf, parseJson } from '../conversation/records/import-values.ts';
import { openJsonElements, type JsonPart } from '../conversation/logs/json-elements.ts';
import type { AgentLogFormat } from './agent.ts';
import { agentNames, agents, type AgentName } from './agents.ts';

const plain = { openai: openOpenaiImporter, jsonl: openJsonlImporter };

export type ImportFormat = AgentName | keyof typeof plain;

export const importFormats: readonly ImportFormat[] = [...agentNames, 'openai', 'jsonl'];

export interface ImportFormats {
  /**
   * Returns a file's format, given its first 64 KiB or so. Returns null when nothing in it is certain, or when it has
   * lines in more than one format.
   */
  detect(head: string): ImportFormat | null;
  open(format: ImportFormat, options: ImportOptions): MeasuredImporter;
}

type Fields = Record<string, unknown>;

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'];

type Formats = Readonly<Record<AgentName, AgentLogFormat>>;

export async function loadImportFormats(): Promise<ImportFormats> {
  const loaded = await Promise.all(agentNames.map(async (name) => [name, await agents[name].log()] as const));
  const formats = Object.fromEntries(loaded) as Formats;
  return {
    detect: (head) => detectFormat(formats, head),
    open(format, options) {
      if (format === 'openai' || format === 'jsonl') return plain[format](options);
      return openClosedLog((own) => openAgentReader(format, own, formats[format]), options, formats[format].document);
    },
  };
}

function detectFormat(formats: Formats, head: string): ImportFormat | null {
  const document = agentNames.find((name) => formats[name].document?.isIts(head));
  if (document !== undefined) return document;
  const objects = objectsOf(head);
  // A mark identifies one agent for certain, even if the line resembles another agent's.
  const marked = agentNames.find((name) => objects.some((line) => formats[name].isMark?.(line)));
  if (marked !== undefined) return marked;
  const found = objects.map((line) => formatsOf(formats, line)).filter(({ length }) => length > 0);
  if (found.length === 0) return isChat(head) ? 'openai' : null;
  // A line may resemble several agents' lines; the log belongs to the agent that all its lines resemble.
  return found.reduce((one, other) => one.filter((format) => other.includes(format)))[0] ?? null;
}

/** Parses each line's object. If the last line is cut off, its complete members count. */
function objectsOf(head: string): Fields[] {
  const cutter = openLines();
  const lines = [...cutter.push(head), ...cutter.end()];
  return lines.flatMap(({ text }, index) => {
    const { objects } = readObjects(text ?? '');
    return objects.length === 0 && index === lines.length - 1 ? [wholeMembers(text ?? '')] : objects;
  });
}

/** Returns a line's possible formats, the likeliest first. */
function formatsOf(formats: Formats, line: Fields): ImportFormat[] {
  const type = asText(line['type']);
  if (type === undefined && (isMessage(line) || Array.isArray(line['messages']))) return ['openai'];
  if (type !== undefined && isTranscript(type, line)) return ['jsonl'];
  return agentNames.filter((name) => formats[name].isMark === undefined && formats[name].isRecord(line, ''));
}

function isTranscript(type: string, line: Fields): boolean {
  const isForeign = 'uuid' in line || 'sessionId' in line || 'payload' in line;
  if (isForeign) return false;
  if (saidTypes.some((known) => known === type)) return 'role' in fieldsOf(line['message']);
  if (type === 'tool_use' || type === 'tool_result') return 'tool_call_id' in line;
  return type === 'orchestrator_meta' || type === 'voice_interrupted' || (type === 'note' && 'text' in line);
}

function isMessage(value: unknown): boolean {
  const { role } = fieldsOf(value);
  return typeof role === 'string' && roles.includes(role);
}

/** Returns true if the head belongs to a chat document, which may span many lines or have one that is longer than the head. */
function isChat(head: string): boolean {
  const elements = openJsonElements();
  const parts = [...elements.push(head), ...elements.end()];
  const [first] = parts.flatMap((part) => (part.kind === 'element' ? [part.text] : []));
  if (first !== undefined) return isMessage(parseJson(first) ?? wholeMembers(first));
  return isMessage(parseJson(`{${membersOf(parts).join(',')}}`));
}

/** Returns the complete members of an object that may be cut off. */
function wholeMembers(text: string): Fields {
  const elements = openJsonElements();
  const members = membersOf(elements.push(text)).map((member) => fieldsOf(parseJson(`{${member}}`)));
  return Object.fromEntries(members.flatMap((member) => Object.entries(member)));
}

function membersOf(parts: readonly JsonPart[]): string[] {
  return parts.flatMap((part) => (part.kind === 'member' ? [part.text] : []));
}
