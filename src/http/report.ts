/** What the operator of a server is told. Nothing of the content is ever in it, nor the token. */

/** A request, as a line of JSON. */
export interface RequestLine {
  /** ISO 8601. */
  time: string;
  /** Null: what came was no request. */
  method: string | null;
  path: string | null;
  status: number;
  ms: number | null;
  session_id?: string | undefined;
  code?: string | undefined;
}

export interface RequestReport {
  request(line: RequestLine): void;
  /** A call failed through no fault of its client. */
  failure(error: unknown): void;
}
