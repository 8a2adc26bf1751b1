/** Runs a git hook; the scripts in `hooks/` call this command. */
import { hookNames } from '../../ports/git.ts';
import { text } from 'node:stream/consumers';
import { openCapture, openMessageFile } from '../../app.ts';
import { TeddyError } from '../../errors.ts';
import type { LinePosition, RewrittenEntry } from '../../workflow/hooks/tell.ts';
import type { CheckedPush } from '../../workflow/hooks/check-push.ts';
import { resolvePath } from '../context.ts';
import { parameter, parameters, TeddyCommand, type Terminal, usage, withInterrupt } from '../teddy-command.ts';
import { toVisible } from '../../session/text/visible-text.ts';

export class HookCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Hooks',
    description: 'Do the work of a git hook; `teddy hooks install` makes git call it.',
    details: `
      prepare-commit-msg and commit-msg add \`Teddy-During: <session> <turn>\` to your own commits on a session's
      branch. With \`git config teddy.assistedByHook true\` they also name the models that certainly contributed to a
      commit. post-rewrite reads from stdin what was rewritten, and warns if that was an entry. pre-push reads from
      stdin what is pushed, and verifies the sessions' branches. post-checkout reports where you are in a session. The
      arguments are the ones that git passes to the hook.

      Exit codes: 0 done, or no session is involved; 1 a pushed session does not hold up, or contains a secret; 2 no
      such hook.
    `,
    examples: [['From a hook of your own', '$0 hook pre-push -- "$@"']],
  });

  name = parameter('name');
  args = parameters('argument');

  protected run(terminal: Terminal): Promise<number> {
    if (this.name === 'pre-push') return this.checkPush(terminal);
    if (this.name === 'post-checkout') return this.describePlace(terminal);
    if (this.name === 'post-rewrite') return this.warnOfRewritten(terminal);
    if (this.name === 'prepare-commit-msg' || this.name === 'commit-msg') return this.addTrailer(terminal);
    throw new TeddyError(
      'UNKNOWN_HOOK',
      `teddy has no hook ${JSON.stringify(this.name)}.`,
      `The hooks are ${hookNames.slice(0, -1).join(', ')} and ${hookNames.at(-1)}.`,
    );
  }

  private addTrailer(terminal: Terminal): Promise<number> {
    const [path] = this.args;
    if (path === undefined)
      throw new TeddyError('USAGE', `${this.name} needs the file with the message.`, 'git passes it to its hooks.');
    return this.withProject(terminal, async (project) => {
      const { addDuringTrailer } = await import('../../workflow/hooks/add-during-trailer.ts');
      const { GIT_EDITOR: editor, GIT_INDEX_FILE: index } = this.context.env;
      await addDuringTrailer(project, await openMessageFile(resolvePath(this.context, path)), {
        // Git sets this value for its hooks when it does not open an editor.
        isEdited: editor !== ':',
        indexFile: index === undefined ? null : resolvePath(this.context, index),
        listCaptured: async () => {
          const { listCapturedLines } = await import('../../workflow/capture/capture.ts');
          return listCapturedLines(openCapture(project, this.context.env));
        },
      });
      return 0;
    });
  }

  private warnOfRewritten(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { findRewritten } = await import('../../workflow/hooks/tell.ts');
      const rewritten = await findRewritten(project, await text(this.context.stdin));
      if (rewritten === null) return 0;
      const warning = terminal.style(['yellow', 'bold'], 'warning:', 'stderr');
      const hint = terminal.style('cyan', 'hint:', 'stderr');
      terminal.say(`${warning} ${renderRewritten(rewritten)}`);
      terminal.say(
        `${hint}  \`git reset --soft ${rewritten.oid.slice(0, 12)}\` undoes this, and leaves your changes staged for a separate commit.`,
      );
      return 0;
    });
  }

  private describePlace(terminal: Terminal): Promise<number> {
    // The third argument is 0 for a checkout of files.
    if (this.args[2] === '0') return Promise.resolve(0);
    return this.withProject(terminal, async (project) => {
      const { describePlace } = await import('../../workflow/hooks/tell.ts');
      const place = await describePlace(project);
      if (place !== null) terminal.say(toVisible(renderPlace(place)));
      return 0;
    });
  }

  private checkPush(terminal: Terminal): Promise<number> {
    const [remote = ''] = this.args;
    return this.withProject(terminal, (project) =>
      withInterrupt(terminal, 'git push', async (signal) => {
        const { checkPush, parsePushedRefs } = await import('../../workflow/hooks/check-push.ts');
        const checked = await checkPush(project, remote, parsePushedRefs(await text(this.context.stdin)), signal);
        const findings = renderPush(checked);
        if (findings.length === 0) return 0;
        terminal.say(`${terminal.style(['red', 'bold'], 'error:', 'stderr')} A teddy hook stopped the push.`);
        for (const finding of findings) terminal.say(toVisible(finding));
        const hint = terminal.style('cyan', 'hint:', 'stderr');
        terminal.say(`${hint}  \`teddy verify <branch>\` shows everything; \`git push --no-verify\` pushes anyway.`);
        return 1;
      }),
    );
  }
}

function renderPlace({ session, line, turn }: LinePosition): string {
  const where = line === null ? `session ${session}` : `${line}, a branch of session ${session}`;
  if (turn === null) return `teddy: ${where}, no turn yet; next: teddy plan -m <message>`;
  const [state, next] = {
    open: turn.hasMessage ? ['is waiting for an answer', 'resume'] : ['has no message yet', 'plan -m <message>'],
    planned: ['has a plan to execute', 'execute'],
    closed: ['is done', 'plan -m <message>'],
  }[turn.status];
  return `teddy: ${where}, turn ${turn.turn} ${state}; next: teddy ${next}`;
}

function renderRewritten({ entry: { kind, session, turn } }: RewrittenEntry): string {
  const place = turn === null ? '' : `turn ${turn} of `;
  return `This replaced an entry (${place}session ${session}: ${kind}). Entries must not change: \`teddy verify\` will report a fault.`;
}

const shownFindings = 10;

function renderPush({ lines, secrets }: CheckedPush): string[] {
  const broken = lines.flatMap(({ line: name, violations }) =>
    violations.map(({ turn, path, message, commit }) => {
      const place = [name, ...(turn === null ? [] : [`turn ${turn}`]), ...(path === null ? [] : [path])].join(', ');
      return `  ${place}: ${message} (commit ${commit.slice(0, 12)})`;
    }),
  );
  const leaving = secrets.map(
    ({ commit, path, kind }) =>
      `  ${path ?? 'The message or a file name'} contains a secret: ${kind} (commit ${commit.slice(0, 12)})`,
  );
  const all = [...broken, ...leaving];
  const more = all.length - shownFindings;
  return more > 0 ? [...all.slice(0, shownFindings), `  ... and ${more} more`] : all;
}
