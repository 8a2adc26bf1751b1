/** opencode, which keeps a store instead of a log, so teddy's plugin keeps a journal of each session. */
import { join } from 'node:path';
import { toShellWord } from '../../session/text/shell-word.ts';
import type { Agent } from '../agent.ts';

const dependencies = { '@opencode-ai/plugin': '*' };

export const opencode: Agent = {
  title: 'opencode',
  program: 'opencode',
  traces: {
    version: '1.18.33',
    variables: ['OPENCODE', 'OPENCODE_PID'],
    programs: ['opencode'],
    scripts: ['/node_modules/opencode-ai/'],
  },
  home: { directory: '.config/opencode', variable: 'XDG_CONFIG_HOME', within: 'opencode' },
  hooks: {
    file: 'plugin/teddy.js',
    events: { 'chat.message': 'turn-begins', 'session.idle': 'turn-ends', 'session.error': 'turn-ends' },
    own: ({ readScript }) => readScript('agents/opencode.js'),
    /**
     * When there is a plugin, opencode installs a package for it before it starts, and waits 75 s if there is no
     * network. teddy's plugin needs no package, so these files make opencode skip the installation: it checks the
     * directory, and the name in the lock file.
     */
    beside: {
      directory: 'node_modules',
      files: {
        'package.json': toJson({ dependencies }),
        'package-lock.json': toJson({ lockfileVersion: 3, packages: { '': { dependencies } } }),
      },
      unless: ['node_modules', 'bun.lock', 'package.json', 'package-lock.json'],
    },
  },
  logs: {
    root: (_home, spool) => join(spool, 'opencode'),
    depth: 0,
    locate: (root, sessionId) => join(root, `${sessionId}.jsonl`),
  },
  log: async () => (await import('./log.ts')).opencodeLog,
  openWith: {
    uuid: 4,
    toId: (uuid) => `ses_${uuid.replaceAll('-', '').slice(0, 26)}`,
    // With opencode's data, not with its configuration, which people share.
    toPath: (_cwd, { id }, { env }) =>
      join(env['XDG_DATA_HOME'] || join(env['HOME'] ?? '', '.local/share'), 'opencode', 'teddy', `${id}.json`),
    readProvider: async () => 'unknown',
    resume: (id, path) => `opencode import ${toShellWord(path)} && opencode --session ${id}`,
    render: async () => (await import('./session.ts')).renderOpencodeSession,
  },
};

function toJson(content: object): string {
  return `${JSON.stringify(content, null, 2)}\n`;
}
