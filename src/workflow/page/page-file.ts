/** The page of a session as one file. */
import { renderSessionPage } from '../../page/render-page.ts';
import type { PageSource } from '../../page/session-page.ts';
import type { Project } from '../../ports/project.ts';
import { findPageSource, readPage } from './read-page.ts';

export interface PageFile {
  source: PageSource;
  bytes: Uint8Array;
  turns: number;
}

/** Throws what `findPageSource` and `readPage` throw. */
export async function makePageFile(project: Project, selector: string | undefined, version: string): Promise<PageFile> {
  return renderPageFile(project, await findPageSource(project, selector), version);
}

/** The same source and version give the same bytes. */
async function renderPageFile(project: Project, source: PageSource, version: string): Promise<PageFile> {
  const page = await readPage(project, source, { version, checks: true });
  return { source, bytes: new TextEncoder().encode(renderSessionPage(page, project.hash)), turns: page.turns.length };
}
