/** Reads OpenAI chat messages: an array, an object with `messages`, or several of these, one after the other. */
import { openContext, toImporter, type MeasuredImporter } from './import-context.ts';
import type { ImportOptions } from './importer.ts';
import { toPlace, type Place } from './import-ids.ts';
import { openJsonElements, type JsonPart } from './json-elements.ts';
import { readOpenaiMessage } from './openai-messages.ts';
import { asText, hasText, isObject, parseJson } from './import-values.ts';

/** What is kept of the object around the messages, or is a message itself. */
interface Members {
  texts: string[];
  chars: number;
}

const maxMemberChars = 64 * 1024 * 1024;

/** Reads a document of any size; it holds no more of it than one message. Of a document that is cut off, all whole messages come. */
export function openOpenaiImporter(options: ImportOptions): MeasuredImporter {
  const context = openContext('openai', options);
  const elements = openJsonElements();
  const around: { title: string | null; created: unknown } = { title: null, created: undefined };
  const members: Members = { texts: [], chars: 0 };
  let number = 0;
  let answers = 0;

  const readMessage = (value: unknown, place: Place): void => {
    const messages = isObject(value) && Array.isArray(value['messages']) ? value['messages'] : [value];
    for (const message of messages) {
      answers += 1;
      readOpenaiMessage(context, message, { place, answer: String(answers), created: around.created });
    }
  };
  const readElement = (text: string): void => {
    members.texts = [];
    number += 1;
    context.log.readLine(number);
    const value = parseJson(text);
    if (value === undefined) context.log.skip(number, 'not JSON, or cut off');
    else readMessage(value, toPlace(number, text));
  };
  const readMember = (text: string): void => {
    members.chars += text.length;
    if (members.chars <= maxMemberChars) members.texts.push(text);
    const value = text.length < 10_000 ? parseJson(`{${text}}`) : undefined;
    if (!isObject(value)) return;
    around.title ??= [value['title'], value['name']].map(asText).find(hasText) ?? null;
    around.created = value['created'] ?? value['created_at'] ?? around.created;
  };
  const readObject = (hadElements: boolean): void => {
    const [text, chars] = [`{${members.texts.join(',')}}`, members.chars];
    Object.assign(members, { texts: [], chars: 0 });
    if (hadElements) return;
    if (chars > maxMemberChars) tooLong();
    else readElement(text);
  };
  const tooLong = (): void => {
    number += 1;
    context.log.readLine(number);
    context.log.skip(number, 'longer than a message can be');
  };
  const read = (part: JsonPart): void => {
    if (part.kind === 'element') readElement(part.text);
    else if (part.kind === 'member') readMember(part.text);
    else if (part.kind === 'object') readObject(part.hadElements);
    else tooLong();
  };
  const reader = { title: () => around.title };
  return toImporter(
    context,
    reader,
    (text) => elements.push(text).forEach(read),
    () => elements.end().forEach(read),
  );
}
