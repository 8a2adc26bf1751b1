import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect } from 'vitest';
import { beginTool, parseToolCall, renderBegun, renderToolError } from '../../src/conversation/prompts/write-tool.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

const source = new URL('../../src', import.meta.url).pathname;

interface Tool {
  name: string;
  parameters: object;
}

function isTool(value: unknown): value is Tool {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    'parameters' in value &&
    'description' in value &&
    typeof value.parameters === 'object' &&
    value.parameters !== null &&
    'properties' in value.parameters
  );
}

/** Every exported value in the source that has the form of a tool, even in lists. */
async function findTools(): Promise<Tool[]> {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
  // A tool is a JSON Schema in the source: no other file is loaded.
  const mentioned = files.filter((path) => /\bparameters: (?:\{|\w+\()/.test(readFileSync(join(source, path), 'utf8')));
  const modules = await Promise.all(
    mentioned.map(async (path) => (await import(pathToFileURL(join(source, path)).href)) as Record<string, unknown>),
  );
  return modules.flatMap((module) => Object.values(module).flat()).filter(isTool);
}

/** The names of all properties in a schema, at any depth. */
function propertiesOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own =
    'properties' in schema && typeof schema.properties === 'object' && schema.properties !== null
      ? Object.keys(schema.properties)
      : [];
  return [...own, ...Object.values(schema).flatMap(propertiesOf)];
}

const forbidden = /^(?:raw_?)?(?:content|data|text|body)s?$/i;

describe("the model's tools", () => {
  slowTest('are six, and no tool in the source has a parameter for content', async () => {
    const tools = await findTools();
    const names = ['WritePlanTool_begin', 'edit_file', 'list_files', 'read_file', 'run_command', 'search_text'];
    expect([...new Set(tools.map(({ name }) => name))].toSorted()).toEqual(names);
    expect(tools.flatMap((tool) => propertiesOf(tool.parameters)).filter((name) => forbidden.test(name))).toEqual([]);
  });

  test('would be detected with a content parameter at any depth', () => {
    const nested = { properties: { file: { type: 'object', properties: { raw_content: { type: 'string' } } } } };
    const listed = { properties: { files: { type: 'array', items: { anyOf: [{ properties: { body: {} } }] } } } };
    expect([nested, listed].map((schema) => propertiesOf(schema).filter((name) => forbidden.test(name)))).toEqual([
      ['raw_content'],
      ['body'],
    ]);
  });

  test("accept only their schema's properties, and need all of them", () => {
    expect(beginTool.parameters).toMatchObject({
      required: Object.keys(beginTool.parameters.properties),
      additionalProperties: false,
    });
  });
});

describe('a call', () => {
  const whole = { intent: 'Explain the guide', target_file: 'docs/guide.md', operation: 'create' };

  test('returns its values', () => {
    expect(parseToolCall(JSON.stringify(whole))).toEqual({
      intent: 'Explain the guide',
      target: 'docs/guide.md',
      operation: 'create',
    });
  });

  test.each([
    ['', 'The arguments are not a JSON object.'],
    ['{"intent":"Explain', 'The arguments are not a JSON object.'],
    ['[]', 'The arguments are not a JSON object.'],
    ['null', 'The arguments are not a JSON object.'],
    ['"create"', 'The arguments are not a JSON object.'],
    ['{}', 'Target file path is required.'],
    [JSON.stringify({ ...whole, target_file: ' ' }), 'Target file path is required.'],
    [JSON.stringify({ ...whole, operation: 1 }), "Invalid operation type. Must be 'create', 'overwrite', or 'append'."],
    [JSON.stringify({ ...whole, intent: null }), 'The intent is required, as text.'],
    [
      JSON.stringify({ ...whole, content: '# Guide', raw_content: '' }),
      'There is no parameter "content", "raw_content": content is never part of a call.',
    ],
  ])('that is %s is answered with advice', (text, problem) => {
    expect(parseToolCall(text)).toEqual({
      problem: `${problem} Call it again with the texts intent, target_file and operation, and send the content as plain text after its result.`,
    });
  });

  test('that begins a session is answered with its id, its directory and its end marker, as JSON', () => {
    const record = { id: '3b241101-e2bb-4255-8caf-4136c566a962', target: 'a.md', endMarker: 'DONE-1a2b3c4d' };
    expect(JSON.parse(renderBegun({ record, directory: '/repo/.git/staging', instructions: 'Go on.' }))).toEqual({
      session_id: record.id,
      status: 'active',
      stage: 'awaiting_content',
      target_file: 'a.md',
      session_dir: '/repo/.git/staging',
      end_marker: 'DONE-1a2b3c4d',
      instructions: 'Go on.',
    });
  });

  test('that begins none is answered with the reason, as JSON that no reason can break', () => {
    expect(JSON.parse(renderToolError('It is "broken"\n'))).toEqual({ error: 'It is "broken"\n' });
  });
});
