import { readFile } from 'node:fs/promises';
import { openForge } from '../../../app.ts';
import { TeddyError } from '../../../errors.ts';
import type { Oid } from '../../../names.ts';
import type { Project } from '../../../ports/project.ts';
import type { CheckRun } from '../../../workflow/ci/pull-request.ts';
import type { SignedReview } from '../../../workflow/review/review.ts';
import { resolvePath, type CliContext } from '../../context.ts';
import { option, type Terminal, usage } from '../../teddy-command.ts';
import { ChangeCommand } from './change-command.ts';

/** A session's newest turns that are read for the comment. */
const maxRead = 50;

const noToken =
  'This job has no TEDDY_GITLAB_TOKEN. Only merge requests between protected branches of the same project get it.';

interface Change {
  base: string;
  head: string;
  run: CheckRun | null;
}

export class CiCommentCommand extends ChangeCommand {
  static override usage = usage({
    category: 'CI',
    description: 'Print the comment for a pull request: its sessions, approvals, and what is not proven.',
    details: `
      Checks the change as \`teddy ci verify\` does, without running anything, and summarizes it as Markdown: what was
      asked, the plan, who approved it, which commands the session recorded, models and cost, and what is not proven.
      A name without a signature has the note (unsigned). Texts from sessions mention nobody and add no link, image or
      HTML; secrets in them are masked.

      With --post, it writes the comment on GitHub: it finds the one open pull request whose newest commit is the head,
      and replaces the token owner's own comment, or creates it. It writes nothing if the pull request has moved on.
      It reads GITHUB_REPOSITORY and GITHUB_TOKEN, and GITHUB_API_URL and GITHUB_GRAPHQL_URL if they are set.

      In a job on GitLab, the comment is a note of the job's own merge request, and the token is TEDDY_GITLAB_TOKEN,
      because CI_JOB_TOKEN may not write notes. Without it, as in a fork's project, the job says so and ends with 0.
      Without --base, teddy fetches the merge request from origin as data, as it does for --event.

      With --event, the change comes from a \`workflow_run\` event, whose workflow may have checked a fork's pull
      request: teddy fetches the pull request and its base branch from origin as data, into any repository, also an
      empty bare one. It checks out nothing, runs nothing of the change and reads nothing that its run has written.

      Exit codes: 0 done, whatever the check found; 1 git failed, or refuses what the pull request contains; 2 wrong
      usage; 5 the forge cannot be reached, or refuses.
    `,
    examples: [
      ['Look at the comment for a branch', '$0 ci comment --base origin/main'],
      ['In a job that `workflow_run` starts', '$0 ci comment --event "$GITHUB_EVENT_PATH" --post'],
      ["In a job of a merge request's pipeline on GitLab", '$0 ci comment --post'],
    ],
  });

  base = option('--base', {
    value: '<commit>',
    describe: 'The branch or commit that the change will be merged into.',
    excludes: ['--event'],
  });
  head = option('--head', {
    value: '<commit>',
    describe: 'The branch or commit with the change. Default: HEAD.',
    excludes: ['--event'],
  });
  event = option('--event', { value: '<file>', describe: 'The file with the `workflow_run` event.' });
  post = option('--post', { describe: 'Write the comment on the forge instead of printing it.' });
  pageUrl = option('--page-url', { value: '<url>', describe: "Link to the session's page at this address." });

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    const { base, head: named = 'HEAD', event, pageUrl } = this;
    if (pageUrl !== undefined && !/^https?:\/\//.test(URL.canParse(pageUrl) ? pageUrl : ''))
      throw new TeddyError('USAGE', '`--page-url` is not a web address.', 'Begin it with `https://`.');
    return this.withProjectAndSignal(terminal, 'teddy ci comment', async (project, signal) => {
      const [{ requireCommit }, { findPullRequest, postComment, withPullRequest }] = await Promise.all([
        import('../../../workflow/line/find-recorded.ts'),
        import('../../../workflow/ci/pull-request.ts'),
      ]);
      const run = base === undefined ? await this.readRun() : null;
      if (event !== undefined && run === null) return this.skip(terminal, 'No pull request has started that run.');
      const { store } = project.repository;
      const head = run?.head ?? (await requireCommit(store, named, 'Name the commit: `--head <commit>`.'));
      const isOnForge = run !== null || this.post;
      const forge = isOnForge ? await openForge(this.context.env, signal) : null;
      if (isOnForge && forge === null) return this.skip(terminal, noToken);
      const pull = forge && (await findPullRequest(forge, { head, from: run?.from ?? null }));
      if (forge !== null && pull === null)
        return this.skip(terminal, `No open ${forge.noun} has this commit as its newest one.`);
      const comment = async (range: { base: string; head: string }) => {
        const text = await this.renderChange(project, { ...range, run }, signal);
        if (this.post && forge !== null && pull !== null) return postComment(forge, { pull, head, text });
        return { state: 'printed' as const, text };
      };
      const place = pull && { remote: 'origin', pull, signal };
      const isGiven = base !== undefined || place === null;
      const done = await (isGiven ? comment({ base: base ?? '', head }) : withPullRequest(project, place, comment));
      if (done === null || done.state === 'outdated') {
        const noun = forge?.noun === 'merge request' ? 'Merge request' : 'Pull request';
        return this.skip(terminal, `${noun} ${pull?.label} has moved on.`);
      }
      if (this.json) this.printJson(terminal, 'ci-comment', { number: pull?.number ?? null, head, ...done });
      else terminal.print(done.state === 'printed' ? done.text : `Comment ${done.state}: ${done.url}\n`);
      return 0;
    });
  }

  /** Returns null when no pull request has started the event's run. Throws USAGE. */
  private async readRun(): Promise<CheckRun | null> {
    const { readCheckRun, readJob } = await import('../../../workflow/ci/pull-request.ts');
    if (this.event !== undefined) return readCheckRun(await readEventFile(this.context, this.event));
    const run = readJob(this.context.env);
    if (run !== null) return run;
    const hint = 'Name one of them, or run it in the pipeline of a merge request on GitLab.';
    throw new TeddyError('USAGE', '`teddy ci comment` needs `--base` or `--event`.', hint);
  }

  private async renderChange(project: Project, { base, head, run }: Change, signal: AbortSignal): Promise<string> {
    const [{ checkChange }, { reviewSigned }, { maskTexts }, { renderChangeComment }, { nullIfDamaged }] =
      await Promise.all([
        import('../../../workflow/ci/check-change.ts'),
        import('../../../workflow/review/session.ts'),
        import('../../../workflow/line/mask-text.ts'),
        import('../../render/change-comment.ts'),
        import('../../../errors.ts'),
      ]);
    const policy = await this.readPolicy(project, base);
    const sessions: SignedReview[] = [];
    const request = { range: { base, head }, targets: [], runsCommands: false, ...policy, signal };
    const onLine = async (target: string) => {
      const review = await reviewSigned(project, target, { most: maxRead, signal }).catch(nullIfDamaged);
      if (review !== null) sessions.push(review);
    };
    const found = await checkChange(project, { ...request, onLine });
    const checked = await maskTexts(project.masker, found);
    return renderChangeComment({
      // A check of a range always has it.
      range: found.range ?? { base: base as Oid, head: head as Oid },
      checked,
      verdict: this.judge(checked, policy),
      sessions,
      conclusion: run?.conclusion ?? null,
      pageUrl: this.pageUrl,
      signedBy: policy.signedBy,
    });
  }

  private skip(terminal: Terminal, reason: string): number {
    if (this.json) this.printJson(terminal, 'ci-comment', { number: null, state: 'skipped', reason });
    else terminal.print(`${reason} Nothing was written.\n`);
    return 0;
  }
}

/** Throws USAGE. */
export function readEventFile(context: CliContext, path: string): Promise<string> {
  return readFile(resolvePath(context, path), 'utf8').catch((error: Error) => {
    const hint = 'Pass `--event "$GITHUB_EVENT_PATH"`.';
    throw new TeddyError('USAGE', `The event file cannot be read: ${error.message}.`, hint);
  });
}
