/** Names of files in a sentence. */
import type { RepoPath, SessionId } from '../names.ts';

/** A sentence has room for a few names. */
export function nameSome(names: readonly string[]): string {
  return names.length <= 5 ? names.join(', ') : `${names.slice(0, 5).join(', ')} and ${names.length - 5} more`;
}

/** An edit of a file that no turn of its session made. */
export interface OwnEdit {
  path: RepoPath;
  /** It was there before the session's first message. */
  isEarly: boolean;
  /** The session of another agent that left the file so; null: the edit is the user's own. */
  of: SessionId | null;
}

/** `your own edits of a.txt`, and `b.txt of <session>`, whoever made them. */
export function nameEdits(edits: readonly OwnEdit[], own: (names: string) => string): string[] {
  const sessions = [...new Set(edits.map(({ of }) => of))].toSorted((a, b) =>
    a === null ? -1 : b === null ? 1 : a < b ? -1 : 1,
  );
  return sessions.map((session) => {
    const names = nameSome(edits.filter(({ of }) => of === session).map(({ path }) => path));
    return session === null ? own(names) : `${names} of ${session}`;
  });
}
