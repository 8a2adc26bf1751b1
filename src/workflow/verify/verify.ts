/** The types that the checks of a line share: the log that is rendered again, and what is found in it. */
import type { LogSection } from '../../session/context/context-log-sections.ts';
import type { Oid, SessionId, TurnName } from '../../names.ts';

export interface LogRequest {
  /** The entry that wrote the log; what its first parent holds was shown. */
  commit: Oid;
  session: SessionId;
  turn: TurnName;
  log: string;
}

interface LogDifference {
  /** `history`, `file src/app.ts`, `front matter`. */
  section: string;
  /** One sentence. */
  message: string;
  /** The object without which nothing can be compared. */
  missing?: Oid;
  /** The section of the log that differs. */
  shown?: LogSection;
}

export interface RenderedLog {
  /** Sections that came out the same. */
  derived: number;
  /** Those that nothing can render again: what was on disk alone, prompts of another version, what is masked. */
  attested: number;
  differences: LogDifference[];
  /** Whom the log says was asked; null: it cannot be read. */
  asked: { agent: string; provider: string; model: string } | null;
  /** Bodies of sections of which nothing else is known than that the log has them. */
  unproven: string[];
  /** The number of those that differ in an entry that was put on other commits. */
  rebased: number;
}

/** The expected form of a section. */
export type Expected =
  /** The text of a source that is there. */
  | { kind: 'text'; body: string }
  /** Nothing here can tell. */
  | { kind: 'unknown' }
  | { kind: 'wrong'; message: string; missing?: Oid };

export interface Asked {
  agent: string;
  provider: string;
  model: string;
}
