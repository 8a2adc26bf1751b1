/** Gemini CLI, by Google. */
import { basename, dirname, join } from 'node:path';
import { fieldsOf, parseJson } from '../../conversation/records/import-values.ts';
import type { Agent, AgentFiles } from '../agent.ts';

export const gemini: Agent = {
  title: 'Gemini CLI',
  program: 'gemini',
  disclosedAs: 'Gemini',
  traces: {
    version: '0.61.0',
    variables: ['GEMINI_CLI'],
    programs: ['gemini'],
    scripts: ['/node_modules/@google/gemini-cli/'],
  },
  home: { directory: '.gemini' },
  hooks: {
    file: 'settings.json',
    events: { SessionStart: 'other', BeforeAgent: 'turn-begins', AfterAgent: 'turn-ends', SessionEnd: 'session-ends' },
    // In milliseconds.
    entry: { name: 'teddy', timeout: 10_000 },
  },
  logs: { root: (home) => join(home, 'tmp'), depth: 2, directoryOf },
  log: async () => (await import('./log.ts')).geminiLog,
};

/** Returns the directory that the slug in `~/.gemini/tmp/<slug>/chats/<log>` represents. */
async function directoryOf(path: string, files: AgentFiles): Promise<string | null> {
  const slugDir = dirname(dirname(path));
  const { projects } = fieldsOf(parseJson(await files.readText(join(dirname(dirname(slugDir)), 'projects.json'))));
  const named = Object.entries(fieldsOf(projects)).find(([, slug]) => slug === basename(slugDir))?.[0];
  return named ?? ((await files.readText(join(slugDir, '.project_root'))).trim() || null);
}
