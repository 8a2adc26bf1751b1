/** Has a model write files, and shows how they come along: for `write ask`. */
import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import type { WriteRecord } from '../../../write/write.ts';
import type {
  ModelListener,
  ModelWriteOptions,
  ModelWritten,
  WrittenFile,
} from '../../../workflow/writes/write-with-model.ts';
import { askYes } from '../../ask/finish-write.ts';
import { describeEffort } from '../../render/progress.ts';
import { showWritten } from '../../render/write.ts';
import { visibleChunks, type Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/visible-text.ts';
import { toFinalizeAnswer } from '../../../http/write-api.ts';
import { showWriteProgress } from '../../render/write-progress.ts';

export interface AskOptions extends Omit<ModelWriteOptions, 'message'> {
  message: string | undefined;
  /** The session to go on with; undefined for a new one. */
  resume: string | undefined;
  /** `all`: -y was given; `none`: nobody can be asked. */
  approval: 'all' | 'ask' | 'none';
  /** Null when a person reads the output. */
  printJson: ((schema: string, value: object) => void) | null;
}

/** Returns the exit code. Throws NOT_APPROVED when that is why nothing was written. */
export async function askAndWrite(terminal: Terminal, project: Project, options: AskOptions): Promise<number> {
  const { printJson, model } = options;
  const view = viewWriting(terminal, project, options);
  if (printJson === null) terminal.say(terminal.style('dim', `Asking ${toVisible(model.label)} ...`, 'stderr'));
  const begunMs = performance.now();
  try {
    const written = await write(project, options, view.listener);
    view.end();
    const { files, refused, said, usage } = written;
    if (files.length === 0 && refused > 0)
      throw new TeddyError(
        'NOT_APPROVED',
        `Nothing was written: ${refused === 1 ? 'the file was' : `${refused} files were`} not approved.`,
        'Ask again, and say what is to be different.',
      );
    const toAnswer = (file: WrittenFile) => ({ ...toFinalizeAnswer(file), operation: file.record.operation });
    if (printJson !== null) printJson('write-ask', { files: files.map(toAnswer), said, usage });
    else terminal.say(terminal.style('dim', describeEffort(usage, performance.now() - begunMs), 'stderr'));
    return 0;
  } catch (error) {
    throw printJson === null ? error : withFiles(error, view.files);
  } finally {
    view.end();
  }
}

async function write(project: Project, options: AskOptions, listener: ModelListener): Promise<ModelWritten> {
  const { message, resume: id } = options;
  if (id !== undefined) {
    const { resumeWithModel } = await import('../../../workflow/writes/resume-with-model.ts');
    return resumeWithModel(project, { ...options, id }, listener);
  }
  const { writeWithModel } = await import('../../../workflow/writes/write-with-model.ts');
  return writeWithModel(project, { ...options, message: message ?? '' }, listener);
}

interface WritingView {
  listener: ModelListener;
  files: WrittenFile[];
  /** Takes the progress away; it may be called again. */
  end(): void;
}

function viewWriting(terminal: Terminal, project: Project, options: AskOptions): WritingView {
  const isQuiet = options.printJson !== null;
  const isStreamed = !isQuiet && terminal.isOutputTty;
  const progress = showWriteProgress(terminal);
  const files: WrittenFile[] = [];
  const say = (text: string) => {
    if (!isQuiet) terminal.say(text);
  };
  let toChunk = visibleChunks();
  let target = '';
  progress.wait();
  const listener: ModelListener = {
    onText(text) {
      if (!isStreamed) return;
      progress.hide();
      terminal.print(toChunk(text));
    },
    onSaid(text, isLast) {
      toChunk = visibleChunks();
      // Words beside a file are for the person alone. Without any file they are the answer.
      if (isStreamed) terminal.endLine();
      else if (isLast && files.length === 0 && !isQuiet) terminal.print(`${toVisible(text).replace(/\n$/, '')}\n`);
      else say(toVisible(text).replace(/\n$/, ''));
      progress.wait();
    },
    async approve(record) {
      const { approval, signal } = options;
      progress.hide();
      if (approval === 'all') return true;
      if (approval === 'ask') return askYes(terminal, signal, `Write ${describe(record)}? [y/N] `, false);
      const reason = 'there is no terminal to ask in. -y approves every file.';
      project.notices.warn(`${record.target} is not written: ${reason}`);
      return false;
    },
    onBegun(record) {
      target = record.target;
      if (options.approval !== 'ask') say(terminal.style('dim', `Writing ${describe(record)}`, 'stderr'));
      progress.wait();
    },
    onContent: (received) => progress.content(target, received),
    onPrompt: () =>
      say(terminal.style('dim', `No end of ${toVisible(target)} yet: the model is asked for it.`, 'stderr')),
    onFindings: (text) => say(toVisible(text)),
    onWritten(file) {
      progress.hide();
      files.push(file);
      if (!isQuiet) showWritten(terminal, toFinalizeAnswer(file));
      progress.wait();
    },
  };
  return {
    listener,
    files,
    end() {
      progress.hide();
      terminal.endLine();
    },
  };
}

function describe({ target, operation, intent }: WriteRecord): string {
  return toVisible(`${target} (${operation}): ${intent}`).replaceAll('\n', ' ');
}

/** With --json there is one document, and it must name the files that are committed. */
function withFiles(error: unknown, files: WrittenFile[]): unknown {
  if (!(error instanceof TeddyError) || files.length === 0) return error;
  const list = files.map(({ record, result }) => `${record.target} ${result.commit}`).join(', ');
  return new TeddyError(error.code, error.message, `${error.hint ?? ''} Committed before that: ${list}.`.trim(), {
    cause: error,
  });
}
