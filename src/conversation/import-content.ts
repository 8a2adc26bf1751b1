/** Reads the content of a foreign message: a text, or parts, of which some are no text. */
import type { ImportLog } from './import-report.ts';
import { asText, fieldsOf, hasText, isObject, toStorable } from './import-values.ts';

const imageTypes = ['image', 'image_url', 'input_image'];

/** Its parts are separate paragraphs; `[image]` and the like stand for what is no text. */
export function toText(content: unknown, log: ImportLog): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return isObject(content) ? partText(content, log) : '';
  return content
    .map((part) => partText(part, log))
    .filter(hasText)
    .join('\n\n');
}

/** Converts a tool's result: text, parts, any value. Images become `[image]`. */
export function toOutput(content: unknown, log: ImportLog): unknown {
  if (content === undefined || content === null) return '';
  if (!Array.isArray(content)) return toStorable(content);
  return toStorable(content.map((part) => (isImage(part, log) ? { type: 'text', text: '[image]' } : part)));
}

function partText(part: unknown, log: ImportLog): string {
  if (typeof part === 'string') return part;
  const { type, text, refusal } = fieldsOf(part);
  if (typeof text === 'string') return text;
  if (typeof refusal === 'string') return refusal;
  if (isImage(part, log)) return '[image]';
  const kind = asText(type);
  if (kind === undefined) return '';
  log.leaveOut('parts that are no text');
  return `[${kind.slice(0, 40)}]`;
}

function isImage(part: unknown, log: ImportLog): boolean {
  const type = asText(fieldsOf(part)['type']);
  if (type === undefined || !imageTypes.includes(type)) return false;
  log.leaveOut('images');
  return true;
}
