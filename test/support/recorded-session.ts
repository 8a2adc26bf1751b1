/** A session with every kind of entry, on several lines. */
import { appendRecords } from '../../src/workflow/line/append-records.ts';
import { branchSession } from '../../src/workflow/turn/branch-session.ts';
import { rewindTurn } from '../../src/workflow/turn/rewind.ts';
import { undoTurn } from '../../src/workflow/turn/undo.ts';
import { chat, readme } from './chat.ts';
import { memoryProject, type MemoryProject } from './memory-repository.ts';
import { assistant, user } from './records.ts';
import { scriptedModel } from './scripted-model.ts';
import { command, create, edit, line, memos, planOf, run, say, start, turn } from './turns.ts';

/** `prepare`: changes to the project before anything is recorded. */
export async function recordedSession(prepare: (project: MemoryProject) => unknown = () => {}): Promise<MemoryProject> {
  const project = await memoryProject({ 'README.md': '# Notes\n', 'src/a.ts': 'one\ntwo\n' });
  prepare(project);
  await start(project);
  await project.write({
    '.teddy/memos.yaml': '- spaces\n',
    [`.teddy/sessions/20260124-add-login/session.context`]: 'src/a.ts\nmissing.ts\n',
  });
  await say(project, 'Memos', planOf([edit('src/a.ts', 'one', 'uno')], memos('[+] tabs')));
  project.command.run = async () => ({ stdout: 'done\n' });
  await run(project, { memos: { kind: 'yes' } });
  await project.write({ 'README.md': '# Mine\n' });
  await turn(project, 'Two ``` things', create('two.txt'), command('true'));
  await chat(project, 'Look', scriptedModel({ texts: ['I look.'], calls: [readme('a')] }, 'It has a title.'));
  await undoTurn(project, {});
  await appendRecords(project, { records: [user('u1', 'Spoken', 'voice_transcription')] });
  await appendRecords(project, { records: [assistant('a1', 'Heard.', 'voice_response')] });
  await project.commit('A commit of my own\n', { 'mine.txt': 'mine\n' });
  await say(project, 'No plan', null);
  await say(project, 'No plan, I said', 'No plan.');
  await turn(project, 'Last', create('last.txt'));
  await branchSession(project, { turn: '02', switch: true });
  await turn(project, 'Two again', create('other.txt'));
  await turn(project, 'And three', create('three.txt'));
  await branchSession(project, { turn: '02', switch: true });
  await say(project, 'Two once more', null);
  await say(project, 'Two once more, really', planOf([create('more.txt')]));
  await project.switchTo(line);
  await rewindTurn(project, { turn: '01' });
  await turn(project, 'After one', create('restored.txt'));
  return project;
}
