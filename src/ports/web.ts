/** The workflows' view of the web. Types only: `system/` implements them. */
import type { Oid } from '../names.ts';

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

export interface PullRequest {
  number: number;
  /** The number as people write it, such as `#7`. */
  label: string;
  /** The ref with the change in the repository that it is for. */
  ref: string;
  isOpen: boolean;
  /** The repository with the change, as `owner/name`; null when it has been deleted, or the forge does not name it. */
  repository: string | null;
  /** The branch and the commit of the change. */
  branch: string;
  head: Oid;
  /** The branch that the change will be merged into. */
  base: string;
}

export interface ForgeComment {
  id: number;
  author: string;
  body: string;
  url: string;
}

/**
 * One repository on a forge, or one merge request in it. Each method throws REMOTE_UNREACHABLE, REMOTE_REFUSED when the token may not do this or
 * the forge asks for patience, INTERRUPTED. The lists have all pages.
 */
export interface Forge {
  noun: 'pull request' | 'merge request';
  /** Lists the open pull requests, or only those from this branch, as `owner:branch`. */
  listPullRequests(from?: string): Promise<PullRequest[]>;
  readPullRequest(number: number): Promise<PullRequest>;
  listComments(number: number): Promise<ForgeComment[]>;
  /** Returns the name that the token's own comments have as their author. */
  ownName(): Promise<string>;
  createComment(number: number, body: string): Promise<ForgeComment>;
  updateComment(number: number, id: number, body: string): Promise<ForgeComment>;
}
