/** Has a model write files and shows their progress, for `write ask`. */
import type { ApprovalMode } from '../../ask/approval.ts';
import type { ChosenModel } from '../../../app.ts';
import { TeddyError } from '../../../errors.ts';
import { toFinalizeAnswer } from '../../../http/write-api.ts';
import type { Model } from '../../../ports/model.ts';
import type { Project } from '../../../ports/project.ts';
import { parseObject } from '../../../session/text/parse-object.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import type { ChatListener, ChatOutcome, WrittenFile } from '../../../workflow/chat/chat.ts';
import type { WriteRecord } from '../../../write/write.ts';
import { askingForeign } from '../../ask/choose-model.ts';
import { askYes } from '../../ask/finish-write.ts';
import { describeEffort } from '../../render/progress.ts';
import { showWriteProgress } from '../../render/write-progress.ts';
import { showWritten } from '../../render/write.ts';
import { visibleChunks, type Terminal } from '../../terminal.ts';

export interface AskOptions {
  choice: ChosenModel & { model: Model };
  /** The message; undefined for the one that still needs an answer. */
  message: string | undefined;
  /** The write session to continue; undefined for a new one. */
  resume: string | undefined;
  session: string | undefined;
  signal: AbortSignal;
  approval: ApprovalMode;
  /** Null when the output is for the user, not a program. */
  printJson: ((schema: string, value: object) => void) | null;
}

/** Returns the exit code. Throws NOT_APPROVED when the user approved nothing, so that teddy wrote nothing. */
export async function askAndWrite(terminal: Terminal, project: Project, options: AskOptions): Promise<number> {
  const { printJson } = options;
  const view = viewWriting(terminal, project, options);
  const begunMs = performance.now();
  try {
    const { usage, turn } = await write(terminal, project, options, view);
    view.end();
    const { files, refused, said } = view;
    if (files.length === 0 && refused() > 0)
      throw new TeddyError(
        'NOT_APPROVED',
        `Nothing was written: ${refused() === 1 ? 'the file was' : `${refused()} files were`} not approved.`,
        'Ask again, and say what should be different.',
      );
    const toAnswer = (file: WrittenFile) => ({ ...toFinalizeAnswer(file), operation: file.record.operation });
    if (printJson !== null) printJson('write-ask', { ...turn, files: files.map(toAnswer), said, usage });
    else terminal.say(terminal.style('dim', describeEffort(usage, performance.now() - begunMs), 'stderr'));
    return 0;
  } catch (error) {
    throw printJson === null ? error : withFiles(error, view.files);
  } finally {
    view.end();
  }
}

type Written = Pick<Extract<ChatOutcome, { kind: 'answered' }>, 'usage'> & {
  turn: { session?: string; turn?: string };
};

async function write(
  terminal: Terminal,
  project: Project,
  options: AskOptions,
  { listener, saidLast }: WritingView,
): Promise<Written> {
  const { choice, message, resume, session: selector, signal, approval, printJson } = options;
  const { askForFiles } = await import('../../../workflow/chat/ask-for-files.ts');
  const approveForeign = askingForeign(terminal, signal, { canAsk: approval === 'ask' && printJson === null });
  const approvesAll = approval !== 'ask';
  const asked = { choice, message, resume, selector, signal, approveForeign, approvesAll };
  const outcome = await askForFiles(project, asked, listener);
  if (outcome.kind === 'answered') saidLast(outcome.text);
  const usage = outcome.kind === 'open' ? null : outcome.usage;
  return { usage, turn: { session: outcome.line.session, turn: outcome.turn } };
}

interface WritingView {
  listener: ChatListener;
  files: WrittenFile[];
  /** The model's words, one item per answer. */
  said: string[];
  /** Returns how many announced files the user did not approve. */
  refused(): number;
  /** Called when the last answer ends without a call. */
  saidLast(text: string): void;
  /** Removes the progress display; callers may call it more than once. */
  end(): void;
}

function viewWriting(terminal: Terminal, project: Project, options: AskOptions): WritingView {
  const isQuiet = options.printJson !== null;
  const isStreamed = !isQuiet && terminal.isOutputTty;
  const progress = showWriteProgress(terminal);
  const [files, said]: [WrittenFile[], string[]] = [[], []];
  const say = (text: string) => {
    if (!isQuiet) terminal.say(text);
  };
  let [toChunk, heard, target, refused] = [visibleChunks(), '', '', 0];
  progress.wait();

  /** Shows what the model said alongside files. If it wrote no file, these words are the answer. */
  const endSaid = (text: string, isLast: boolean) => {
    [toChunk, heard] = [visibleChunks(), ''];
    if (text.trim() === '') return;
    said.push(text);
    const shown = toVisible(text).replace(/\n$/, '');
    if (isStreamed) terminal.endLine();
    else if (isLast && files.length === 0 && !isQuiet) terminal.print(`${shown}\n`);
    else say(shown);
  };
  const listener: ChatListener = {
    onAsk({ request, label }) {
      if (request === 1) say(terminal.style('dim', `Asking ${toVisible(label)} ...`, 'stderr'));
      progress.wait();
    },
    onText(text) {
      heard += text;
      if (!isStreamed) return;
      progress.hide();
      terminal.print(toChunk(text));
    },
    onUsage: () => undefined,
    onCall: () => endSaid(heard, false),
    onOutput: () => undefined,
    onResult(_call, { isError, output }) {
      if (isError && target === '')
        project.notices.warn(`The model's announcement was refused: ${parseObject(output)?.['error'] ?? output}`);
      target = '';
    },
    // Approves every call, because the user approves each file before its content arrives.
    approve: async () => true,
    file: {
      async wants(record) {
        const isWanted = await approve(terminal, project, options, record, () => progress.hide());
        target = record.target;
        if (!isWanted) refused += 1;
        return isWanted;
      },
      onBegun(record) {
        target = record.target;
        if (options.approval !== 'ask') say(terminal.style('dim', `Writing ${describe(record)}`, 'stderr'));
        progress.wait();
      },
      onContent: (received) => progress.content(target, received),
      onPrompt: () =>
        say(terminal.style('dim', `${toVisible(target)} has no end marker yet: asking the model for it.`, 'stderr')),
      onFindings: (text) => say(toVisible(text)),
      onWritten(file) {
        progress.hide();
        files.push(file);
        if (!isQuiet) showWritten(terminal, toFinalizeAnswer(file));
        progress.wait();
      },
    },
  };
  return {
    listener,
    files,
    said,
    refused: () => refused,
    saidLast: (text) => endSaid(text, true),
    end() {
      progress.hide();
      terminal.endLine();
    },
  };
}

async function approve(
  terminal: Terminal,
  project: Project,
  { approval, signal }: AskOptions,
  record: WriteRecord,
  hide: () => void,
): Promise<boolean> {
  hide();
  if (approval === 'all') return true;
  if (approval === 'ask') return askYes(terminal, signal, `Write ${describe(record)}? [y/N] `, false);
  const reason = 'there is no terminal for the approval. -y approves every file.';
  project.notices.warn(`${record.target} was not written: ${reason}`);
  return false;
}

function describe({ target, operation, intent }: WriteRecord): string {
  return toVisible(`${target} (${operation}): ${intent}`).replaceAll('\n', ' ');
}

/** Names the committed files in the error, because --json prints only one document. */
function withFiles(error: unknown, files: WrittenFile[]): unknown {
  if (!(error instanceof TeddyError) || files.length === 0) return error;
  const list = files.map(({ record, result }) => `${record.target} ${result.commit}`).join(', ');
  return new TeddyError(error.code, error.message, `${error.hint ?? ''} Committed before that: ${list}.`.trim(), {
    cause: error,
  });
}
