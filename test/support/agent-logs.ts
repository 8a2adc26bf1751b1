/** Agents' logs: the project's own fixtures, and real agents' samples if their folder exists. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { agentNames, type AgentName } from '../../src/agents/agents.ts';
import type {
  AgentCheckpoint,
  AgentFork,
  AgentLine,
  AgentLogReader,
  AgentStep,
  AgentUnit,
} from '../../src/conversation/logs/agent-log.ts';
import { loadAgentLog } from '../../src/agents/open-log.ts';
import { importOptions } from './import-source.ts';

export interface AgentLogFile {
  agent: AgentName;
  name: string;
  lines: AgentLine[];
}

/** It is beside the project, if it exists. */
const samples = fileURLToPath(new URL('../../../shared/agents', import.meta.url));
const fixtures = fileURLToPath(new URL('../../fixtures/agents', import.meta.url));

export const hasSamples = existsSync(samples);

export function readAgentLogs(): AgentLogFile[] {
  if (!hasSamples)
    console.warn('The samples of real agents (../shared/agents) are not there: only the fixtures are read.');
  return [...(hasSamples ? listFiles(samples) : []), ...(existsSync(fixtures) ? listFiles(fixtures) : [])].flatMap(
    (path) => {
      const agent = agentOf(path);
      return [{ agent, name: path.replace(`${samples}/`, ''), lines: toLines(readText(agent, path)) }];
    },
  );
}

/** The logs among the project's own fixtures, complete. */
export function readAgentFixtures(): [AgentName, string][] {
  return listFiles(fixtures).map((path) => [agentOf(path), readFileSync(path, 'utf8')]);
}

function agentOf(path: string): AgentName {
  const agent = agentNames.find((name) => path.includes(`/${name === 'claude-code' ? 'claude' : name}`));
  if (agent === undefined) throw new Error(`${path} is of no agent.`);
  return agent;
}

function readText(agent: AgentName, path: string): string {
  const text = readFileSync(path, 'utf8');
  return agent === 'opencode' && path.endsWith('.json') ? toAgentLines(text).join('\n') : text;
}

function listFiles(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.jsonl?$/.test(path) && !path.includes('.hooks.'))
    .map((path) => `${dir}/${path}`)
    .toSorted();
}

export function toLines(text: string): AgentLine[] {
  return text
    .split('\n')
    .map((line, at) => ({ number: at + 1, text: line }))
    .filter((line) => line.text !== '');
}

const openers = new Map(await Promise.all(agentNames.map(async (name) => [name, await loadAgentLog(name)] as const)));

export function openLog(agent: AgentName, checkpoint?: AgentCheckpoint): AgentLogReader {
  const open = openers.get(agent);
  if (open === undefined) throw new Error(`There is no agent ${agent}.`);
  return open({ ...importOptions, ...(checkpoint === undefined ? {} : { checkpoint }) });
}

export function readSteps(reader: AgentLogReader, lines: readonly AgentLine[]): AgentStep[] {
  return lines.flatMap((line) => {
    reader.line(line);
    return reader.take();
  });
}

export function unitsOf(steps: readonly AgentStep[]): AgentUnit[] {
  return steps.flatMap((step) => ('unit' in step ? [step.unit] : []));
}

export function forksOf(steps: readonly AgentStep[]): AgentFork[] {
  return steps.flatMap((step) => ('fork' in step ? [step.fork] : []));
}

/** The lines that opencode keeps, from a document printed by `opencode export`; the first one describes the session. */
export function toAgentLines(document: string): string[] {
  const { info, messages } = JSON.parse(document) as { info: object; messages: object[] };
  return [JSON.stringify({ session: info }), ...messages.map((message) => JSON.stringify(message))];
}
