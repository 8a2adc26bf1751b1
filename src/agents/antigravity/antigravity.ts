/**
 * Antigravity's command line, `agy`, by Google. npm does not have it: the facts come from its documentation and from
 * descriptions of its versions 1.1.5 to 1.2.7.
 */
import { basename, dirname, join } from 'node:path';
import { asText, fieldsOf, parseJson } from '../../conversation/records/import-values.ts';
import type { Agent, AgentFiles } from '../agent.ts';

const [logName, aboveLog] = ['transcript_full.jsonl', '.system_generated/logs'];

export const antigravity: Agent = {
  title: 'Antigravity',
  program: 'agy',
  disclosedAs: 'Antigravity',
  traces: { version: null, variables: ['ANTIGRAVITY_AGENT'], programs: ['agy'] },
  home: { directory: '.gemini/antigravity-cli' },
  hooks: {
    file: '../config/hooks.json',
    section: 'teddy',
    events: { PreInvocation: 'turn-begins', Stop: 'turn-ends' },
    beginsTurn: ({ invocationNum }) => invocationNum === 0,
    // In seconds.
    entry: { timeout: 10 },
    // A hook that prints no JSON ends the turn.
    prints: '{}',
  },
  logs: {
    root: (home) => join(home, 'brain'),
    depth: 3,
    isLog: (name) => name === logName,
    locate: (root, sessionId) => join(root, sessionId, aboveLog, logName),
    idOf: (path) => basename(dirname(dirname(dirname(path)))),
    directoryOf,
  },
  log: async () => (await import('./log.ts')).antigravityLog,
};

/** Returns the work tree of a session that somebody began at a terminal; the history of those is all that names one. */
async function directoryOf(path: string, files: AgentFiles): Promise<string | null> {
  const brain = join(dirname(path), '../../..');
  const id = basename(join(dirname(path), '../..'));
  const lines = (await files.readText(join(brain, '../history.jsonl')))
    .split('\n')
    .map((line) => fieldsOf(parseJson(line)));
  return asText(lines.find(({ conversationId }) => conversationId === id)?.['workspace']) ?? null;
}
