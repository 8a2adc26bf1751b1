/** A tool call that may be done: the user has approved what needs approval. */
import type { ParsedCall } from '../../conversation/chat-tools.ts';
import { TeddyError } from '../../errors.ts';
import { maskString } from '../mask-text.ts';
import type { CallPlace } from './chat-files.ts';
import type { ToolOutcome } from './chat.ts';
import { listFiles } from './list-files-tool.ts';
import { readFile } from './read-file-tool.ts';
import { runCommand } from './run-command-tool.ts';
import { searchText } from './search-text-tool.ts';
import { refuseAborted, toFailure } from './tool-failure.ts';

/**
 * What fails is an outcome. Throws INTERRUPTED when the signal is aborted; a command that was running by then has an outcome of
 * the reason `aborted`. Files are not written here: whoever receives their content begins that.
 */
export async function performCall(
  place: CallPlace,
  call: Exclude<ParsedCall, { name: 'WritePlanTool_begin' }>,
): Promise<ToolOutcome> {
  refuseAborted(place.signal);
  try {
    const outcome = await perform(place, call);
    // What is said of a failure quotes paths, and lines of the user's lists.
    return outcome.isError ? { ...outcome, output: await maskString(place.project.masker, outcome.output) } : outcome;
  } catch (error) {
    if (!(error instanceof TeddyError) || error.code === 'INTERRUPTED') throw error;
    return toFailure(await describe(place, error));
  }
}

function perform(place: CallPlace, call: Parameters<typeof performCall>[1]): Promise<ToolOutcome> {
  switch (call.name) {
    case 'read_file':
      return readFile(place, call);
    case 'list_files':
      return listFiles(place, call);
    case 'search_text':
      return searchText(place, call);
    case 'run_command':
      return runCommand(place, call);
  }
}

/** Where masking itself has failed, its error quotes nothing. */
async function describe({ project: { masker } }: CallPlace, error: TeddyError): Promise<string> {
  const text = error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
  return error.code === 'MASKING_FAILED' ? text : maskString(masker, text);
}
