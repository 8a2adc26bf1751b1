/** READ of a URL: the page is masked before anything of it is kept, and stored with the turn. */
import type { ReadAction } from '../plan/plan.ts';
import type { FetchEffect } from '../plan/effect.ts';
import type { Performed, Runner } from './run.ts';

export async function fetchPage(
  { pages, masker, settings, run }: Runner,
  { index, resource }: ReadAction,
  { url }: FetchEffect,
): Promise<Performed> {
  const page = await pages.fetch(url, settings.signal);
  // A redirect may carry a token in its query.
  const [text, finalUrl] = await Promise.all([masker.mask(page.text), masker.mask(page.url)]);
  run.pages.push({ action: index, text: text.text });
  return {
    status: 'SUCCESS',
    details: {
      url: resource.kind === 'url' ? resource.url : url,
      ...(page.url === url ? {} : { final_url: finalUrl.text }),
      content_type: page.contentType,
      bytes: new TextEncoder().encode(text.text).length,
      ...(text.count > 0 ? { masked: text.count } : {}),
      page_file: `pages/${index}.txt`,
    },
  };
}
