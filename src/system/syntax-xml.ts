/** XML: well-formed or not. What a DTD declares is not known here. */
import { parseXml, XmlError } from '@rgrove/parse-xml';
import type { Finding } from '../write/write.ts';

export function checkXml(text: string): Finding[] {
  try {
    parseXml(text, { ignoreUndefinedEntities: true });
    return [];
  } catch (error) {
    if (!(error instanceof XmlError)) throw error;
    const { line, column } = error;
    return [{ check: 'syntax', message: toReason(error.message), line, column }];
  }
}

/** The first line without the place, which is told by itself. */
function toReason(message: string): string {
  const [first = ''] = message.split('\n', 1);
  return `${first.replace(/ \(line \d+, column \d+\)$/, '')}.`;
}
