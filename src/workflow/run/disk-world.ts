/** The world that the actions of a run work on: the work tree. What they change is noted in the run, and in its journal before. */
import { equalBytes } from '../../session/bytes.ts';
import { toEffect } from '../../plan/actions/actions.ts';
import type { ActionWorld } from '../../plan/actions/world.ts';
import type { Performed } from '../../plan/action-details.ts';
import type { WriteEffect } from '../../plan/effect.ts';
import type { Action } from '../../plan/plan.ts';
import type { ProjectFiles } from '../../ports/disk.ts';
import { realPathOf } from '../../session/out-of-reach.ts';
import { keepFile } from './keep-before.ts';
import { noteWrite } from './left-files.ts';
import { runScripts, toReason } from './scripts.ts';
import type { Runner } from './run.ts';

export function openDiskWorld(runner: Runner, action: Action): ActionWorld {
  const { pages, masker, settings, run, log, approver, place } = runner;
  return {
    begin: () => log.begin(action, { kind: 'none' }),
    write: (effect) => write(runner, action, effect),
    async run(work) {
      const { value, restored, failure } = await runScripts(runner, action, (start) =>
        work((script, { timeoutMs, ...options }) =>
          start(script, { ...options, timeoutMs: timeoutMs ?? settings.timeoutMs }),
        ),
      );
      return { value, restored, failure: failure === null ? null : toReason(failure) };
    },
    ask: (text) => approver.answer(text),
    async fetch(url) {
      const page = await pages.fetch(url, settings.signal);
      // A redirect may carry a token in its query.
      const [text, finalUrl] = await Promise.all([masker.mask(page.text), masker.mask(page.url)]);
      run.pages.push({ action: action.index, text: text.text });
      const isRedirected = page.url !== url;
      const file = `pages/${action.index}.txt`;
      return {
        url: isRedirected ? finalUrl.text : url,
        text: text.text,
        contentType: page.contentType,
        masked: text.count,
        file,
      };
    },
    searchCommand: () => place.project.settings.get('searchCommand'),
    keepOutput(text) {
      run.outputs.push({ action: action.index, text });
      return `output/${action.index}.log`;
    },
  };
}

async function write(runner: Runner, action: Action, effect: WriteEffect): Promise<Performed> {
  const { files, run, log, place } = runner;
  const path = realPathOf(effect.path, await files.inspect(effect.path));
  const sha256 = place.project.hash(effect.after);
  await log.begin(action, await keepFile(files, log.journal, path, sha256));
  if (!(await isAsShown(files, action, effect))) {
    const reason = `${effect.path} was changed while the approval was asked for; nothing was written`;
    return { status: 'FAILURE', details: { reason } };
  }
  // Noted before: an install that fails in its last step has changed the file all the same.
  run.changed.set(path, effect.action);
  run.left.set(path, `sha256:${sha256}`);
  run.files.set(effect.action, null);
  await files.install(effect.path, effect.after);
  run.files.set(effect.action, [await noteWrite(place.project.repository.store, path, effect)]);
  return { status: 'SUCCESS' };
}

/** Somebody may have edited the file in the meantime: what they see on the screen is what is written, or nothing. */
async function isAsShown(files: ProjectFiles, action: Action, shown: WriteEffect): Promise<boolean> {
  const outcome = await toEffect(action, { inspect: files.inspect });
  return 'effect' in outcome && outcome.effect.kind === 'write' && equalBytes(outcome.effect.before, shown.before);
}
