import { describe, expect, test } from 'vitest';
import { findAgentTrace } from '../../src/agents/traces.ts';

const started = (line: string, name = '') => [
  { pid: 30, name: 'sh', words: ['/bin/sh', '-c', 'teddy approve'] },
  { pid: 20, name, words: line.split(' ') },
  { pid: 10, name: 'bash', words: ['-bash'] },
];

describe('an agent has started it', () => {
  test.each([
    ['CLAUDECODE', '1', 'Claude Code'],
    ['CLAUDE_CODE_ENTRYPOINT', 'cli', 'Claude Code'],
    ['CODEX_SANDBOX', 'seatbelt', 'Codex'],
    ['CODEX_THREAD_ID', '0199', 'Codex'],
    ['GEMINI_CLI', '1', 'Gemini CLI'],
    ['QWEN_CODE', '1', 'Qwen Code'],
    ['OPENCODE', '1', 'opencode'],
    ['PI_CODING_AGENT', 'true', 'pi'],
    ['COPILOT_CLI', '1', 'Copilot CLI'],
    ['CURSOR_AGENT', '1', "Cursor's agent"],
    ['CURSOR_EXTENSION_HOST_ROLE', 'agent-exec', "Cursor's agent"],
    ['AGENT', 'amp', 'Amp'],
    ['AGENT', 'goose', 'Goose'],
    ['GOOSE_TERMINAL', '1', 'Goose'],
    ['ANTIGRAVITY_AGENT', '1', 'Antigravity'],
    ['AI_AGENT', 'something-new', 'an AI agent'],
  ])('if %s is %s', (variable, value, agent) => {
    expect(findAgentTrace({ [variable]: value }, [])?.seen).toMatch(
      new RegExp(`^${agent} started this: ${variable}(?:=${value})? is set\\.$`, 'i'),
    );
  });

  test.each([
    'claude',
    '/home/ada/.vscode/extensions/anthropic.claude-code-2.1.330/resources/native-binary/claude --output-format stream-json',
    'node --max-old-space-size=8192 /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js',
    'node -r ./hook.js /usr/local/bin/gemini -p x',
    '/usr/bin/node /opt/n/lib/node_modules/@qwen-code/qwen-code/cli.js',
    '/opt/codex/codex exec',
    'codex-linux-sandbox --sandbox-policy x',
    '/usr/bin/python3.12 /home/ada/.local/bin/aider --yes',
    'python -m aider',
    'bash -e /home/ada/bin/claude',
    '/home/ada/.local/share/cursor-agent/versions/1/node /home/ada/.local/share/cursor-agent/versions/1/index.js',
    'bun run /home/ada/.bun/bin/opencode.ts',
    'amp.exe',
    'pi',
  ])('if %s is above it, whatever the environment', (line) => {
    expect(findAgentTrace({}, started(line))).toEqual({
      seen: expect.stringMatching(/ started this: process 20 is its program\.$/) as string,
      pid: 20,
    });
  });

  test('if its program has set its own title, or is recognized only by its name', () => {
    expect(findAgentTrace({}, [{ pid: 20, name: 'node', words: ['pi - my project'] }])?.pid).toBe(20);
    expect(findAgentTrace({}, started('/tmp/x/renamed', 'claude'))?.pid).toBe(20);
  });

  test('and the outermost of several is reported, which a person has started', () => {
    const chain = [...started('codex exec'), { pid: 5, name: 'claude', words: ['claude'] }];
    expect(findAgentTrace({}, chain)?.pid).toBe(5);
  });
});

describe('a person has started it', () => {
  test.each([
    ['CURSOR_TRACE_ID', 'x'],
    ['CURSOR_EXTENSION_HOST_ROLE', 'user'],
    ['TERM_PROGRAM', 'vscode'],
    ['VSCODE_IPC_HOOK_CLI', '/x'],
    ['ZED_TERM', 'true'],
    ['CLAUDE_CODE_SSE_PORT', '1'],
    ['CODEX_HOME', '/x'],
    ['AGENT', 'Jenkins'],
    ['CLAUDECODE', ''],
  ])('if %s is %j', (variable, value) => {
    expect(findAgentTrace({ [variable]: value }, started('/usr/share/cursor/cursor'))).toBeNull();
  });

  test.each([
    '/usr/share/code/code --type=renderer',
    '/usr/lib/zed/zed-editor',
    '/Applications/Claude.app/Contents/MacOS/Claude',
    'tmux new -s claude',
    'vim claude',
    'bash -c claude',
    'bash -lc codex exec',
    'node build.js pi',
    'node -e claude',
    'node /home/ada/cline/build.js',
    'git commit -m codex',
    '',
  ])('below %j', (line) => {
    expect(findAgentTrace({}, started(line))).toBeNull();
  });
});
