/** What a report shows of an output or a page, against the whole of it that is stored beside the report. */
import { joinPath, turnDir, type RepoPath } from '../../names.ts';
import type { ActionDetails } from '../../plan/report.ts';
import { toText } from '../line/read.ts';
import type { Findings, RecordedRun } from './turn.ts';

export async function compareOutputs(run: RecordedRun, findings: Findings): Promise<void> {
  for (const { index, details } of run.report.action_logs) {
    for (const name of [details?.output_file, details?.page_file]) {
      if (name === undefined || details === undefined) continue;
      const path = joinPath(turnDir(run.session, run.turn), name);
      const bytes = await readStored(run, path);
      const why =
        bytes === null ? `There is no ${path}, which the report names.` : findDifference(name, details, bytes);
      if (why !== null) findings.differ({ action: index, path }, why);
    }
  }
}

/** A report may name nothing but files of its own turn. */
async function readStored({ project, commit }: RecordedRun, path: RepoPath): Promise<Uint8Array | null> {
  if (path.split('/').includes('..')) return null;
  return (await project.repository.store.readFile(commit, path))?.bytes ?? null;
}

function findDifference(
  name: string,
  { bytes: size, stdout, stderr }: ActionDetails,
  bytes: Uint8Array,
): string | null {
  if (name.startsWith('pages/'))
    return size === bytes.length
      ? null
      : `The page has ${bytes.length} bytes, and the report says ${size ?? 'nothing'}.`;
  // RESEARCH keeps what it shows in another form.
  if (stdout === undefined || stderr === undefined) return null;
  const text = toText(bytes);
  const isPart =
    text.startsWith('--- stdout\n') &&
    text.includes(`${withEnd(stdout)}--- stderr\n`) &&
    text.endsWith(stderr === '' ? '--- stderr\n' : withEnd(stderr));
  return isPart ? null : 'The stored output does not end with what the report shows of it.';
}

function withEnd(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
