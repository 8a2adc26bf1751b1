/** Lets users write or edit a text in their own editor. */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isatty } from 'node:tty';
import { TeddyError } from '../errors.ts';
import { errorReason } from '../disk/system-error.ts';

interface EditOptions {
  /** The output of `git var GIT_EDITOR`: shell code, so that arguments and variables work. */
  editor: string;
  /** The name that the editor shows, and by which it chooses its syntax, such as `plan.md`. */
  fileName: string;
  cwd: string;
  env: Record<string, string | undefined>;
}

/**
 * Opens the editor on a temporary file in the terminal, and returns the content when the editor exits. Throws
 * ACTION_FAILED when the editor fails, which is also how a user cancels. Always removes the file.
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
    throw editorError(editor, `its file cannot be read: ${errorReason(error)}`);
  });
}

/** In the terminal, Ctrl-C reaches both processes; while the editor runs, only the editor handles it. */
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

/** Returns null on success, otherwise a description of the failure. */
function waitForEditor({ editor, cwd, env }: EditOptions, path: string): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn('sh', ['-c', `${editor} "$@"`, editor, path], {
      cwd,
      env,
      // The editor's screen must not go into a pipe: if stdout is not a terminal, the editor uses stderr's.
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
    'Nothing was saved. To use another editor: `git config core.editor <command>`.',
  );
}
