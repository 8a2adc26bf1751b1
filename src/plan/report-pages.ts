/** Which pages a turn has fetched, as its report tells. */
import { readLogs, type ReadLog } from './report-logs.ts';
import { parsePageUrl } from '../session/urls.ts';

/** A page in a file of the turn. */
export interface ReportedPage {
  /** Each spelling under which it is fetched: as it was asked for, and where it was found. */
  urls: string[];
  /** Relative to the turn. */
  file: string;
}

/** In the order of the actions; empty for what is no report. A page of an action that failed is none. */
export function readPages(yaml: string): ReportedPage[] {
  // Most reports have no page, and YAML takes its time.
  if (!yaml.includes('page_file')) return [];
  return (readLogs(yaml) ?? []).flatMap(toPage);
}

function toPage({ status, details }: ReadLog): ReportedPage[] {
  const file = details['page_file'];
  if (status !== 'SUCCESS' || typeof file !== 'string' || !/^pages\/\d+\.txt$/.test(file)) return [];
  const urls = [details['url'], details['final_url']].flatMap((url) => {
    const parsed = typeof url === 'string' ? parsePageUrl(url) : null;
    return parsed && 'url' in parsed ? [parsed.url] : [];
  });
  return [{ urls, file }];
}
