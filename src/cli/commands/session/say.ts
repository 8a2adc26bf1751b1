import type { KnownRecord } from '../../../conversation/records/record.ts';
import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import type { AppendedRecords } from '../../../workflow/line/append-records.ts';
import { option, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class SessionSayCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Talk',
    description: 'Add a message or an answer from elsewhere, spoken or written.',
    details: `
      Adds one record to the transcript, as one commit. No model is asked, but the next turn includes the record. A
      message by the user opens a turn, unless one is waiting for an answer. With \`--id\` you can send a record
      again: teddy adds it only once.

      Prints \`<turn> <commit>\`.

      Exit codes: 0 added, now or before; 2 wrong usage; 3 a record with this id has other content.
    `,
    examples: [
      ['A spoken message', '$0 say --voice -m "Where is the port set?"'],
      ['An answer', '$0 say --voice --role assistant -m "In src/app.ts"'],
      ['An answer, up to where it was interrupted', '$0 say --voice --role assistant --interrupted -m "In src"'],
      ['An interrupted answer of unknown content', '$0 say --voice --interrupted'],
    ],
  });

  message = option('-m,--message', { value: '<text>', describe: 'What was said; - reads it from stdin.' });
  voice = option('--voice', { describe: 'Mark the text as spoken.' });
  role = option('--role', { value: '<name>', describe: 'Who said it: user (default) or assistant.' });
  interrupted = option('--interrupted', { describe: 'Mark the answer as interrupted; with -m, after these words.' });
  id = option('--id', { value: '<id>', describe: "The record's id, unique in its session. Default: a new one." });
  session = sessionOption();

  protected run(terminal: Terminal): Promise<number> {
    const role = this.toRole();
    this.requireText();
    void import('../../../workflow/line/append-records.ts');
    return this.withProjectAndSignal(terminal, 'teddy log', async (project, signal) => {
      const isRead = this.message === '-';
      await this.offerOrphans(terminal, project, signal, !isRead);
      const text = isRead ? await readText(terminal, signal) : this.message;
      requireSaid(text);
      const { appendRecords } = await import('../../../workflow/line/append-records.ts');
      const records = [this.toRecord(project, role, text)];
      const request = { selector: this.session, records, isFresh: this.id === undefined };
      this.show(terminal, await appendRecords(project, request), role);
      return 0;
    });
  }

  /** Reads --role. Throws USAGE. */
  private toRole(): 'user' | 'assistant' {
    const { role = this.interrupted ? 'assistant' : 'user' } = this;
    if (role !== 'user' && role !== 'assistant')
      throw new TeddyError('USAGE', `--role does not accept ${role}.`, 'Use user or assistant.');
    if (this.interrupted && role === 'user')
      throw new TeddyError(
        'USAGE',
        '--interrupted applies to the assistant only.',
        'Omit --role, or use --role assistant.',
      );
    return role;
  }

  /** Requires a text, except for an interruption by voice. */
  private requireText(): void {
    if (this.message !== undefined || (this.interrupted && this.voice)) return;
    throw new TeddyError(
      'EMPTY_MESSAGE',
      'No text was given.',
      'Pass it: -m "..."; -m - reads it from stdin. Only --voice --interrupted needs no text.',
    );
  }

  private toRecord(project: Project, role: 'user' | 'assistant', text: string | undefined): KnownRecord {
    const base = { id: this.id ?? project.ids.entryId(), timestamp: project.clock.now().toISOString() };
    if (text === undefined) return { ...base, type: 'voice_interrupted', details: {} };
    if (role === 'user') {
      const source = this.voice ? 'voice_transcription' : 'text';
      return { ...base, type: 'user', message: { role, content: text }, source };
    }
    const type = this.interrupted ? 'assistant_partial' : 'assistant';
    return { ...base, type, message: { role, content: text }, source: this.voice ? 'voice_response' : 'text' };
  }

  private show(terminal: Terminal, appended: AppendedRecords, role: 'user' | 'assistant'): void {
    const { session, line, turn, commit, entry, isNew } = appended;
    if (this.json) return this.printJson(terminal, 'say', { session, line, turn, commit, entry, isNew });
    terminal.print(`${turn} ${commit.slice(0, 10)}\n`);
    const what = isNew ? this.describe(role) : 'this record was already there, so nothing was added.';
    terminal.say(`Turn ${turn} of ${session}: ${what}`);
  }

  private describe(role: 'user' | 'assistant'): string {
    if (this.message === undefined) return 'the interruption was added.';
    if (role === 'user') return 'the message was added.';
    return this.interrupted ? 'the interrupted answer was added.' : 'the answer was added.';
  }
}

function requireSaid(text: string | undefined): void {
  if (text === undefined || text.trim() !== '') return;
  throw new TeddyError('EMPTY_MESSAGE', 'The text is empty.', 'Pass what was said: -m "...".');
}

const maxTextBytes = 10 * 1024 * 1024;

async function readText(terminal: Terminal, signal: AbortSignal): Promise<string> {
  const { readTextInput } = await import('../../ask/read-input.ts');
  const waiting = 'Reading what was said from stdin; Ctrl-D ends it.';
  return readTextInput('text', { terminal, maxBytes: maxTextBytes, signal, waiting });
}
