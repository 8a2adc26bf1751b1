/** Turns content that is not a plain text, such as blocks, into one text. */

export interface ContentText {
  text: string;
  /**
   * The types of blocks that are not text. The text contains their JSON, or only their name if the JSON consists of an
   * image's bytes.
   */
  foreign: string[];
}

/** If a block's JSON is longer, teddy assumes that it contains bytes, which are of no use to a reader. */
const maxMediaLength = 2000;
const mediaTypes = new Set(['image', 'image_url', 'document', 'file', 'audio', 'input_audio', 'video']);

/** Joins text blocks, one per line; returns an empty text for no content. `content` must be serializable as JSON. */
export function toContentText(content: unknown): ContentText {
  if (typeof content === 'string') return { text: content, foreign: [] };
  if (content === undefined || content === null) return { text: '', foreign: [] };
  if (!Array.isArray(content) || !content.every(isBlock))
    return { text: JSON.stringify(content), foreign: [typeName(content)] };
  const foreign = content.filter((block) => textOf(block) === null).map(({ type }) => type);
  return { text: content.map((block) => textOf(block) ?? describe(block)).join('\n'), foreign };
}

type Block = { type: string } & Record<string, unknown>;

function isBlock(value: unknown): value is Block {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function textOf({ type, text }: Block): string | null {
  return (type === 'text' || type === 'input_text' || type === 'output_text') && typeof text === 'string' ? text : null;
}

function describe(block: Block): string {
  const json = JSON.stringify(block);
  if (json.length <= maxMediaLength || !mediaTypes.has(block.type)) return json;
  return `[${block.type}: ${json.length} characters are not shown]`;
}

function typeName(value: unknown): string {
  return Array.isArray(value) ? 'array' : typeof value;
}
