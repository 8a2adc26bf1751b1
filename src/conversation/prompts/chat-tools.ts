/** The tools that a model may use in a conversation, and the arguments of their calls. Content is never an argument. */
import type { ModelTool, ModelToolCall } from '../../ports/model.ts';
import { numberOf, parseArguments, quoteName, textOf, type Values } from './call-arguments.ts';
import { countNewlines } from '../../session/masks/mask.ts';
import { beginTool, objectOf, parseToolCall, type BeginArguments } from './write-tool.ts';

const maxQueryLength = 1000;
const maxTimeoutS = 86_400;
/** Models make mistakes when they write long texts as JSON. */
const maxEditLines = 200;
const pathForm = 'relative to the root of the project, with `/` between its parts.';

const readFileTool = {
  name: 'read_file',
  description:
    'Reads a text file of the project, at most 2,000 lines at once. Secrets are masked; files that git ignores or that are ' +
    'named like secrets are not read.',
  parameters: objectOf(['path'], {
    path: { type: 'string', description: `The path of the file, ${pathForm}` },
    from_line: { type: 'integer', minimum: 1, description: 'The first line to read, from 1.' },
    to_line: { type: 'integer', minimum: 1, description: 'The last line to read.' },
  }),
};

const listFilesTool = {
  name: 'list_files',
  description:
    'Lists the files of the project that git does not ignore, one path a line. Where there are too many, directories are ' +
    'folded to one line each.',
  parameters: objectOf([], {
    path: { type: 'string', description: `The directory to list, ${pathForm} Without it the whole project.` },
    pattern: {
      type: 'string',
      description: 'Lists only files that match, seen from the directory: `*.ts` at any depth, `src/**/*.test.ts`.',
    },
  }),
};

const searchTextTool = {
  name: 'search_text',
  description:
    'Finds lines in the text files of the project, at most 200 of them. Files that `read_file` does not read are left out, ' +
    'and so are matches inside secrets.',
  parameters: objectOf(['query'], {
    query: { type: 'string', description: 'What the line contains, exactly as it is, in one line.' },
    is_regex: { type: 'boolean', description: 'The query is a regular expression, as Perl has them.' },
    path: {
      type: 'string',
      description: `The file or directory to search, ${pathForm} Without it the whole project.`,
    },
    ignore_case: { type: 'boolean', description: 'Upper and lower case are the same.' },
  }),
};

const runCommandTool = {
  name: 'run_command',
  description:
    'Runs a shell script in the work tree, after the user has approved it. It has no input, and what it leaves running is ' +
    'ended with it. The result has the exit code, the last lines of the output and the files that changed.',
  parameters: objectOf(['command'], {
    command: { type: 'string', description: 'The script, as bash runs it.' },
    cwd: { type: 'string', description: `The directory to run it in, ${pathForm} Without it the root.` },
    timeout_s: { type: 'integer', minimum: 1, maximum: maxTimeoutS, description: 'The seconds it may take.' },
  }),
};

const editFileTool = {
  name: 'edit_file',
  description:
    'Replaces passages of one text file of the project, and commits it. The user sees the diff and approves it. Each edit ' +
    'applies to the result of those before it; its `find` is copied exactly from the file and found there once. ' +
    `They have ${maxEditLines} lines in all at most; longer texts go through ${beginTool.name}.`,
  parameters: objectOf(['path', 'edits'], {
    path: { type: 'string', description: `The path of the file, ${pathForm}` },
    edits: {
      type: 'array',
      minItems: 1,
      description: 'The edits, in order.',
      items: objectOf(['find', 'replace'], {
        find: { type: 'string', description: 'The lines to replace, exactly as they are in the file.' },
        replace: { type: 'string', description: 'What takes their place; empty to delete them.' },
      }),
    },
    match_all: { type: 'boolean', description: 'Replaces every place where a `find` is found, not just one.' },
  }),
};

const lookingTools = [readFileTool, listFilesTool, searchTextTool];
export const chatTools: ModelTool[] = [...lookingTools, runCommandTool, editFileTool, beginTool];

/** Lines are counted from 1; `toLine` is included. */
export interface ReadFileCall {
  name: 'read_file';
  path: string;
  fromLine: number | null;
  toLine: number | null;
}

/** `path` is null for the whole project. */
export interface ListFilesCall {
  name: 'list_files';
  path: string | null;
  pattern: string | null;
}

/** `query` is a single nonempty line. */
export interface SearchTextCall {
  name: 'search_text';
  query: string;
  isRegex: boolean;
  path: string | null;
  ignoresCase: boolean;
}

/** `cwd` is null for the root. `timeoutMs` is null to apply the user's setting. */
export interface RunCommandCall {
  name: 'run_command';
  command: string;
  cwd: string | null;
  timeoutMs: number | null;
}

/** `edits` is nonempty. */
export interface EditFileCall {
  name: 'edit_file';
  path: string;
  edits: { find: string; replace: string }[];
  matchAll: boolean;
}

type BeginCall = { name: 'WritePlanTool_begin' } & BeginArguments;

/** Paths are spelled as the model wrote them. */
export type ParsedCall = ReadFileCall | ListFilesCall | SearchTextCall | RunCommandCall | EditFileCall | BeginCall;

/** `problem`: the correction for the model. `tools`: the tools offered to the model. */
export function parseCall(
  call: ModelToolCall,
  tools: readonly ModelTool[] = chatTools,
): ParsedCall | { problem: string } {
  switch (tools.some(({ name }) => name === call.name) ? call.name : null) {
    case 'read_file':
      return parseArguments(readFileTool, call.arguments, toReadFile);
    case 'list_files':
      return parseArguments(listFilesTool, call.arguments, toListFiles);
    case 'search_text':
      return parseArguments(searchTextTool, call.arguments, toSearchText);
    case 'run_command':
      return parseArguments(runCommandTool, call.arguments, toRunCommand);
    case 'edit_file':
      return parseArguments(editFileTool, call.arguments, toEditFile);
    case beginTool.name:
      return parseBegin(call.arguments);
    default: {
      const names = tools.map(({ name }) => name).join(', ');
      return {
        problem: `There is no tool ${quoteName(call.name)}. ${tools.length === 1 ? `Call ${names}` : `The tools are ${names}`}.`,
      };
    }
  }
}

function parseBegin(text: string): BeginCall | { problem: string } {
  const options = parseToolCall(text);
  return 'problem' in options ? options : { name: 'WritePlanTool_begin', ...options };
}

function toReadFile(values: Values): ReadFileCall | string {
  const [fromLine, toLine] = [numberOf(values, 'from_line'), numberOf(values, 'to_line')];
  if (toLine !== null && toLine < (fromLine ?? 1)) return '`to_line` comes before `from_line`';
  return { name: 'read_file', path: textOf(values, 'path') ?? '', fromLine, toLine };
}

function toListFiles(values: Values): ListFilesCall {
  return { name: 'list_files', path: pathOf(values, 'path'), pattern: textOf(values, 'pattern') || null };
}

function toSearchText(values: Values): SearchTextCall | string {
  const query = textOf(values, 'query') ?? '';
  if (query === '') return '`query` is empty';
  if (/[\n\0]/.test(query)) return '`query` has more than one line';
  if (query.length > maxQueryLength) return `\`query\` has more than ${maxQueryLength} characters`;
  return {
    name: 'search_text',
    query,
    isRegex: values['is_regex'] === true,
    path: pathOf(values, 'path'),
    ignoresCase: values['ignore_case'] === true,
  };
}

function toRunCommand(values: Values): RunCommandCall | string {
  const command = textOf(values, 'command') ?? '';
  if (command.trim() === '') return '`command` is empty';
  if (command.includes('\0')) return '`command` has a NUL character';
  const timeoutS = numberOf(values, 'timeout_s');
  const timeoutMs = timeoutS === null ? null : timeoutS * 1000;
  return { name: 'run_command', command, cwd: pathOf(values, 'cwd'), timeoutMs };
}

function toEditFile(values: Values): EditFileCall | string {
  const edits = (values['edits'] as unknown[]).map(toEdit);
  if (edits.length === 0) return '`edits` is empty';
  const wrong = edits.findIndex((edit) => edit === null);
  if (wrong !== -1)
    return `Edit ${wrong + 1} of \`edits\` does not have the texts \`find\` and \`replace\`, and nothing else`;
  const path = textOf(values, 'path') ?? '';
  const known = edits.filter((edit) => edit !== null);
  const lines = known.flatMap(({ find, replace }) => [find, replace]).reduce((sum, text) => sum + countLines(text), 0);
  if (lines > maxEditLines)
    return `\`edits\` has ${lines} lines, and takes ${maxEditLines} at most: a longer text goes through ${beginTool.name}, as plain text`;
  return {
    name: 'edit_file',
    path,
    edits: known,
    matchAll: values['match_all'] === true,
  };
}

function countLines(text: string): number {
  return text === '' ? 0 : countNewlines(text.replace(/\n$/, '')) + 1;
}

function toEdit(value: unknown): EditFileCall['edits'][number] | null {
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 2) return null;
  const { find, replace } = value as Values;
  return typeof find === 'string' && typeof replace === 'string' ? { find, replace } : null;
}

/** Returns null for the project's root in any notation. */
function pathOf(values: Values, name: string): string | null {
  const path = textOf(values, name)?.trim() ?? '';
  return /^(?:\.\/?)?$/.test(path) ? null : path;
}
