/** Tells the format of a conversation by its beginning. */
import { agentForms, isQwenLine } from './agent-forms.ts';
import type { AgentName } from './agent-log.ts';
import type { ImportFormat } from './importer.ts';
import { openLines, readObjects } from './import-lines.ts';
import { asText, fieldsOf, parseJson } from './import-values.ts';
import { openJsonElements, type JsonPart } from './json-elements.ts';

type Fields = Record<string, unknown>;

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'];

/** `head`: the first 64 KiB or so. Null if nothing in it is certain, or if it holds lines of more than one format. */
export function detectFormat(head: string): ImportFormat | null {
  const objects = objectsOf(head);
  if (objects.some(isQwenLine)) return null;
  const found = new Set(objects.map(formatOf));
  found.delete(null);
  if (found.size > 1) return null;
  return [...found][0] ?? (isChat(head) ? 'openai' : null);
}

/** The agent whose log only capture reads; null: it is none of these. */
export function detectCaptured(head: string): AgentName | null {
  if (/^\s*\{\s*"info":\s*\{\s*"id":\s*"ses_/.test(head)) return 'opencode';
  const objects = objectsOf(head);
  if (objects.some(isQwenLine)) return 'qwen';
  const agents = ['gemini', 'copilot', 'pi', 'opencode'] as const;
  return agents.find((name) => objects.some((line) => agentForms[name](line, ''))) ?? null;
}

/** Parses the object of each line; the last line may be cut off, and its whole members count. */
function objectsOf(head: string): Fields[] {
  const cutter = openLines();
  const lines = [...cutter.push(head), ...cutter.end()];
  return lines.flatMap(({ text }, index) => {
    const { objects } = readObjects(text ?? '');
    return objects.length === 0 && index === lines.length - 1 ? [wholeMembers(text ?? '')] : objects;
  });
}

function formatOf(line: Fields): ImportFormat | null {
  const type = asText(line['type']);
  if (type === undefined && (isMessage(line) || Array.isArray(line['messages']))) return 'openai';
  const agent = (['claude-code', 'codex'] as const).find((name) => agentForms[name](line, ''));
  return agent ?? (type !== undefined && isTranscript(type, line) ? 'jsonl' : null);
}

function isTranscript(type: string, line: Fields): boolean {
  const isForeign = 'uuid' in line || 'sessionId' in line || 'payload' in line;
  if (isForeign) return false;
  if (['user', 'assistant', 'assistant_partial'].includes(type)) return 'role' in fieldsOf(line['message']);
  if (type === 'tool_use' || type === 'tool_result') return 'tool_call_id' in line;
  return type === 'orchestrator_meta' || type === 'voice_interrupted' || (type === 'note' && 'text' in line);
}

function isMessage(value: unknown): boolean {
  const { role } = fieldsOf(value);
  return typeof role === 'string' && roles.includes(role);
}

/** A document over many lines, or in one that is longer than the head. */
function isChat(head: string): boolean {
  const elements = openJsonElements();
  const parts = [...elements.push(head), ...elements.end()];
  const [first] = parts.flatMap((part) => (part.kind === 'element' ? [part.text] : []));
  if (first !== undefined) return isMessage(parseJson(first) ?? wholeMembers(first));
  return isMessage(parseJson(`{${membersOf(parts).join(',')}}`));
}

/** The members of an object that may be cut off. */
function wholeMembers(text: string): Fields {
  const elements = openJsonElements();
  const members = membersOf(elements.push(text)).map((member) => fieldsOf(parseJson(`{${member}}`)));
  return Object.fromEntries(members.flatMap((member) => Object.entries(member)));
}

function membersOf(parts: readonly JsonPart[]): string[] {
  return parts.flatMap((part) => (part.kind === 'member' ? [part.text] : []));
}
