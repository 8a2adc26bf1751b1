/** Gemini CLI, by Google. */
import { basename, dirname, join } from 'node:path';
import { fieldsOf, hasText, parseJson } from '../../conversation/records/import-values.ts';
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
  openWith: {
    uuid: 4,
    async toPath(cwd, { id, startedAt }, { home, files }) {
      const time = startedAt.toISOString().slice(0, 16).replace(':', '-');
      return join('tmp', await slugOf(cwd, home, files), 'chats', `session-${time}-${id.slice(0, 8)}.jsonl`);
    },
    mark: (cwd, path) => ({ path: join(dirname(dirname(path)), '.project_root'), text: cwd }),
    readProvider: async () => 'google',
    resume: (id) => `gemini --resume ${id}`,
    render: async () => (await import('./session.ts')).renderGeminiSession,
  },
};

/** Returns the slug that the program uses for this directory, or will use when it finds its mark there. */
async function slugOf(cwd: string, home: string, files: AgentFiles): Promise<string> {
  const projects = fieldsOf(fieldsOf(parseJson(await files.readText(join(home, 'projects.json'))))['projects']);
  const ownerOf = async (slug: string) => (await files.readText(join(home, 'tmp', slug, '.project_root'))).trim();
  const known = projects[cwd];
  if (hasText(known) && [cwd, ''].includes(await ownerOf(known))) return known;
  const name =
    basename(cwd)
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-|-$/g, '') || 'project';
  const taken = new Set(Object.values(projects));
  for (let count = 0; ; count += 1) {
    const slug = count === 0 ? name : `${name}-${count}`;
    const owner = await ownerOf(slug);
    if (owner === cwd || (owner === '' && !taken.has(slug))) return slug;
  }
}

/** Returns the directory that the slug in `~/.gemini/tmp/<slug>/chats/<log>` represents. */
async function directoryOf(path: string, files: AgentFiles): Promise<string | null> {
  const slugDir = dirname(dirname(path));
  const { projects } = fieldsOf(parseJson(await files.readText(join(dirname(dirname(slugDir)), 'projects.json'))));
  const named = Object.entries(fieldsOf(projects)).find(([, slug]) => slug === basename(slugDir))?.[0];
  return named ?? ((await files.readText(join(slugDir, '.project_root'))).trim() || null);
}
