/** The types that the checks of a line share: the log that is rendered again, and the differences found in it. */
import type { LogSection } from '../../session/context/context-log-sections.ts';
import type { Oid, SessionId, TurnName } from '../../names.ts';

export interface LogRequest {
  /** The entry that wrote the log; its first parent has the files that were shown. */
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
  /** The missing object that prevents the comparison. */
  missing?: Oid;
  /** The section of the log that differs. */
  shown?: LogSection;
}

export interface RenderedLog {
  /** The number of sections that came out the same. */
  derived: number;
  /**
   * The number of sections that cannot be rendered again: from files that were only on disk, prompts of another
   * version, or masked text.
   */
  attested: number;
  differences: LogDifference[];
  /** Who was asked according to the log; null when it cannot be read. */
  asked: { agent: string; provider: string; model: string } | null;
  /** The bodies of sections that nothing but the log itself proves. */
  unproven: string[];
  /** The number of sections that differ because the entry was rebased. */
  rebased: number;
}

/** The expected form of a section. */
export type Expected =
  /** The text of an available source. */
  | { kind: 'text'; body: string }
  /** Nothing here can show the section's content. */
  | { kind: 'unknown' }
  | { kind: 'wrong'; message: string; missing?: Oid };

export interface Asked {
  agent: string;
  provider: string;
  model: string;
}
