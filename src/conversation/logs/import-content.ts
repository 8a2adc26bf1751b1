/** Reads a foreign message's content: a text, or parts that are not all text. */
import type { ImportLog } from './import-report.ts';
import { asText, fieldsOf, hasText, isObject, toStorable } from '../records/import-values.ts';
import type { Tokens } from '../../session/entries/entry.ts';
import type { UnitUsage } from './importer.ts';

const imageTypes = ['image', 'image_url', 'input_image'];

/** Joins text parts as separate paragraphs; a mark such as `[image/png, 12 KB, left out]` replaces a part that is not text. */
export function toText(content: unknown, log: ImportLog): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return isObject(content) ? partText(content, log) : '';
  return content
    .map((part) => partText(part, log))
    .filter(hasText)
    .join('\n\n');
}

/** Converts a tool's result: text, parts, or any value. Replaces images with a name. */
export function toOutput(content: unknown, log: ImportLog): unknown {
  if (content === undefined || content === null) return '';
  if (!Array.isArray(content)) return toStorable(content);
  return toStorable(content.map((part) => (isImage(part, log) ? { type: 'text', text: imageName(part) } : part)));
}

function partText(part: unknown, log: ImportLog): string {
  if (typeof part === 'string') return part;
  const { type, text, refusal } = fieldsOf(part);
  if (typeof text === 'string') return text;
  if (typeof refusal === 'string') return refusal;
  if (isImage(part, log)) return imageName(part);
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

/** Names an image by type and size, if the source has them: in separate fields, or in a URL that contains the image. */
function imageName(part: unknown): string {
  const { source, mimeType, data, image_url: image } = fieldsOf(part);
  const given = fieldsOf(source);
  const url = asText(image) ?? asText(fieldsOf(image)['url']) ?? asText(given['url']) ?? '';
  const [, urlType, urlData] = /^data:([\w.+/-]*)(?:;[^,]*)?,(.*)$/s.exec(url) ?? [];
  const type = [given['media_type'], mimeType, urlType].find(hasText);
  const bytes = [given['data'], data, urlData].find(hasText);
  const size = bytes === undefined ? [] : [`${Math.max(1, Math.round((bytes.length * 3) / 4 / 1024))} KB`];
  return type === undefined ? '[image]' : `[${[type, ...size, 'left out'].join(', ')}]`;
}

/** Reads an answer's usage in each provider's format; returns nothing when the source has none. */
type Fields = Record<string, unknown>;

export function toUsage(model: unknown, provider: unknown, counts: Tokens, costUsd?: unknown): UnitUsage {
  const { input, output, cached = 0, reasoning = 0 } = counts;
  const tokens: Tokens = { input, output, ...(cached > 0 ? { cached } : {}), ...(reasoning > 0 ? { reasoning } : {}) };
  return {
    ...(hasText(model) ? { model } : {}),
    ...(hasText(provider) ? { provider } : {}),
    ...(input + output > 0 ? { tokens } : {}),
    ...(typeof costUsd === 'number' && Number.isFinite(costUsd) && costUsd > 0 ? { costUsd } : {}),
  };
}

/** Returns a count, or 0 for any other value. */
export function countOf(value: unknown): number {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : 0;
}

/** Anthropic counts tokens read from or written to the cache separately from the rest of the input. */
export function toClaudeUsage(model: unknown, usage: Fields): UnitUsage {
  const cached = countOf(usage['cache_read_input_tokens']);
  const input = countOf(usage['input_tokens']) + countOf(usage['cache_creation_input_tokens']) + cached;
  const details = (usage['output_tokens_details'] ?? {}) as Fields;
  const reasoning = countOf(details['thinking_tokens']);
  return toUsage(model, 'anthropic', { input, output: countOf(usage['output_tokens']), cached, reasoning });
}
