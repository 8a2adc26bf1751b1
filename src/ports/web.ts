/** The workflows' view of the web. Types only: `system/` implements them. */

export interface FetchedPage {
  /** After redirects. */
  url: string;
  /** Without parameters: `text/html`. */
  contentType: string;
  /** Decoded; of HTML without scripts, styles, drawings and comments. */
  text: string;
}

/** Public pages of the web: https, no private address after any redirect, 1 MiB, 10 s. */
export interface Pages {
  /** Throws PAGE_REFUSED for what is never fetched, PAGE_FAILED for what could not be, INTERRUPTED. */
  fetch(url: string, signal: AbortSignal): Promise<FetchedPage>;
}
