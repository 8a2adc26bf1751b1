/** Lets the user write or change a text in their own editor. */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isatty } from 'node:tty';
import { TeddyError } from '../errors.ts';
import { errorReason } from '../disk/system-error.ts';

interface EditOptions {
  /** The answer of `git var GIT_EDITOR`: a piece of shell, so that arguments and variables in it work. */
  editor: string;
  /** The editor shows this name for the file, and takes its syntax from it: `plan.md`. */
  fileName: string;
  cwd: string;
  env: Record<string, string | undefined>;
}

/**
 * Opens the editor on a temporary file, with the terminal, and returns what the file holds when the editor ends. Throws
 * ACTION_FAILED when the editor fails, which also is how a user cancels. The file is removed in any case.
 */
export async function editText(initial: string, options: EditOptions): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'teddy-edit-'));
  const path = join(directory, options.fileName);
  try {
    await writeFile(path, initial, { mode: 0o600 });
    await runEditor(options, path);
    return await readEdited(options.editor, path);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function readEdited(editor: string, path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw editorError(editor, `it left no file that can be read: ${errorReason(error)}`);
  });
}

/** Ctrl-C in the terminal reaches both processes; while the editor has it, it is the editor's alone. */
async function runEditor(options: EditOptions, path: string): Promise<void> {
  const ignore = () => undefined;
  process.on('SIGINT', ignore);
  try {
    const failure = await waitForEditor(options, path);
    if (failure !== null) throw editorError(options.editor, failure);
  } finally {
    process.off('SIGINT', ignore);
  }
}

/** Null when it ended well, else how it failed. */
function waitForEditor({ editor, cwd, env }: EditOptions, path: string): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn('sh', ['-c', `${editor} "$@"`, editor, path], {
      cwd,
      env,
      // An editor's screen is no result: with stdout in a pipe it goes to the terminal that stderr is.
      stdio: ['inherit', isatty(1) ? 'inherit' : 2, 'inherit'],
    });
    child.on('error', (error) => resolve(errorReason(error)));
    child.on('exit', (code, signal) => {
      if (code === 0) resolve(null);
      else resolve(signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`);
    });
  });
}

function editorError(editor: string, reason: string): TeddyError {
  return new TeddyError(
    'ACTION_FAILED',
    `The editor \`${editor}\` failed: ${reason}.`,
    'Nothing was taken over. Another editor: `git config core.editor <command>`.',
  );
}
