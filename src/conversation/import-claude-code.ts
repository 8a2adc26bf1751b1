/** Reads the sessions of Claude Code: `~/.claude/projects/<project>/<session>.jsonl`. */
import { claudeTitle, isClaudePrompt, keepClaudeTitle, readClaudeLine, type ClaudeTitles } from './claude-lines.ts';
import { objectReader, openContext, openLineImporter, type MeasuredImporter } from './import-context.ts';
import type { ImportOptions } from './importer.ts';
import type { SourcePosition } from './import-ids.ts';
import { openRewindFinder, type RewindFinder } from './rewinds.ts';
import { hasText } from './import-values.ts';

type Fields = Record<string, unknown>;

/**
 * Lines are read in the order in which they stand. What the user took back (`/rewind`) stands there as well: the importer finds
 * it, and reads the part of the log that it is asked for. Side chains (the conversations of subagents) are left out, but a log of nothing else is a session of its own. A summary that the program wrote when
 * it compacted the conversation is marked as one, unless nothing stands before it: then it is all that is left of what was said, and
 * becomes the user's message.
 */
export function openClaudeCodeImporter(options: ImportOptions): MeasuredImporter {
  const context = openContext('claude-code', options);
  const titles: ClaudeTitles = {};
  let hasBegun = false;
  let isSubagent: boolean | null = null;
  const { part } = options;
  const finder = part === undefined ? openRewindFinder() : null;
  const read = (object: Fields, place: SourcePosition): void => {
    const { type, uuid } = object;
    if (part?.takes(place.line, uuid ?? null) === false) return;
    if (typeof type !== 'string') return context.log.skip(place.line, 'an object without a type');
    if (keepClaudeTitle(titles, object)) return context.log.leaveOut('titles');
    // A log that begins with a side chain is that of a subagent: in the log of a session somebody speaks before it.
    if (type === 'user' || type === 'assistant') isSubagent ??= object['isSidechain'] === true;
    if (object['isSidechain'] !== true || isSubagent === true) addToTree(finder, object, place);
    if (!['user', 'assistant', 'attachment'].includes(type)) return context.log.leaveOut('lines of bookkeeping');
    if (object['isSidechain'] === true && isSubagent !== true) return context.log.leaveOut('lines of side chains');
    // A session that was resumed or forked repeats what it continues.
    if (hasText(uuid) && !context.ids.isNew('line', uuid)) return context.log.leaveOut('repeated lines');
    readClaudeLine(context, object, place, hasBegun);
    hasBegun ||= type !== 'attachment' && object['isMeta'] !== true;
  };
  const readLine = objectReader(context, read);
  const line = (place: SourcePosition): void => (part?.takes(place.line) === false ? undefined : readLine(place));
  const importer = openLineImporter(context, { line, title: () => claudeTitle(titles) });
  return finder === null ? importer : { ...importer, rewinds: finder.find };
}

function addToTree(finder: RewindFinder | null, object: Fields, { line }: SourcePosition): void {
  const { type, uuid, parentUuid, logicalParentUuid } = object;
  if (finder === null || !hasText(uuid)) return;
  const named = parentUuid === null ? (logicalParentUuid ?? null) : parentUuid;
  const parent = named === null || hasText(named) ? named : undefined;
  const isSpoken = type === 'user' || type === 'assistant';
  finder.add({ line, uuid, parent, isPrompt: type === 'user' && isClaudePrompt(object), isSpoken });
}
