/** The workflows' view of the web. Types only: `system/` implements them. */

export interface FetchedPage {
  /** The URL after all redirects. */
  url: string;
  /** The media type without its parameters, such as `text/html`. */
  contentType: string;
  /** The decoded text. HTML comes without its scripts, styles, drawings and comments. */
  text: string;
}

/** Fetches public web pages: https only, never a private address (even after a redirect), at most 1 MiB and 10 seconds. */
export interface Pages {
  /** Throws PAGE_REFUSED for a URL that teddy never fetches, PAGE_FAILED for a page that it cannot fetch, or INTERRUPTED. */
  fetch(url: string, signal: AbortSignal): Promise<FetchedPage>;
}
