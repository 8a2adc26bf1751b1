/** The types that a line's checks share: the re-rendered log, and the differences found in it. */
import type { LogSection } from '../../session/context/context-log-sections.ts';
import type { Oid, SessionId, TurnName } from '../../names.ts';

export interface LogRequest {
  /** The entry that wrote the log; its first parent has the files that the model saw. */
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
  /** The log's differing section. */
  shown?: LogSection;
}

export interface RenderedLog {
  /** The number of sections that turned out identical. */
  derived: number;
  /**
   * The number of sections that teddy cannot re-render: from files that were only on disk, another version's prompts,
   * or masked text.
   */
  attested: number;
  differences: LogDifference[];
  /** The agent and model that were asked, according to the log; null when the log is unreadable. */
  asked: { agent: string; provider: string; model: string } | null;
  /** The bodies of sections that nothing but the log itself proves. */
  unproven: string[];
  /** The number of sections that differ because of a rebase of the entry. */
  rebased: number;
}

/** A section's expected form. */
export type Expected =
  /** Text from an available source. */
  | { kind: 'text'; body: string }
  /** Nothing here can show the section's content. */
  | { kind: 'unknown' }
  | { kind: 'wrong'; message: string; missing?: Oid };

export interface Asked {
  agent: string;
  provider: string;
  model: string;
}
