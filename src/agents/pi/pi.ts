/** pi, the coding agent. */
import { join } from 'node:path';
import { hasText } from '../../conversation/records/import-values.ts';
import { parseObject } from '../../session/text/parse-object.ts';
import type { Agent } from '../agent.ts';

export const pi: Agent = {
  title: 'pi',
  program: 'pi',
  traces: {
    version: '0.73.1',
    variables: ['PI_CODING_AGENT'],
    programs: ['pi'],
    scripts: ['/node_modules/@mariozechner/pi-coding-agent/', '/node_modules/@earendil-works/pi-coding-agent/'],
  },
  home: { directory: '.pi/agent', variable: 'PI_CODING_AGENT_DIR' },
  hooks: {
    // The file contains plain JavaScript, under the name that pi looks for.
    file: 'extensions/teddy.ts',
    events: { before_agent_start: 'turn-begins', agent_end: 'turn-ends', session_shutdown: 'session-ends' },
    own: ({ readScript }) => readScript('agents/pi.js'),
  },
  logs: {
    root: (home) => join(home, 'sessions'),
    depth: 1,
    folder: {
      above: 1,
      mayHold: (name, directory) => name.includes(directory.replaceAll('/', '-').replace(/^-/, '')),
    },
  },
  log: async () => (await import('./log.ts')).piLog,
  openWith: {
    uuid: 7,
    toPath(cwd, { id, startedAt }) {
      const folder = `--${cwd.replace(/^[/\\]/, '').replaceAll(/[/\\:]/g, '-')}--`;
      return join('sessions', folder, `${startedAt.toISOString().replaceAll(/[:.]/g, '-')}_${id}.jsonl`);
    },
    async readProvider(home, files) {
      const { defaultProvider } = parseObject(await files.readText(join(home, 'settings.json'))) ?? {};
      return hasText(defaultProvider) ? defaultProvider : 'unknown';
    },
    resume: (id) => `pi --session ${id}`,
    render: async () => (await import('./session.ts')).renderPiSession,
  },
};
