/** The actions of a plan, in one table: the parser reads by it, and the protocol of the system prompt is rendered from it. */
import type { ActionType } from './plan.ts';

type ParameterType = 'path' | 'resource' | 'directory' | 'text' | 'boolean' | 'number' | 'seconds' | 'lines' | 'env';

export interface ParameterSpec {
  name: string;
  /** Other names that are understood; case, spaces and hyphens never matter. */
  aliases: string[];
  type: ParameterType;
  required: boolean;
  /** The model reads this. */
  purpose: string;
  /** A correct value. */
  example: string;
}

/** The body after the parameters: nothing, one fence, FIND and REPLACE pairs, fences of lines, or free Markdown. */
export type BodyKind = 'none' | 'content' | 'pairs' | 'script' | 'queries' | 'markdown';

/** A parameter that models give and the action cannot have. */
interface RefusedParameter {
  names: string[];
  problem: string;
  /** The thing to do instead. */
  hint: string;
}

export interface ActionSpec {
  type: ActionType;
  purpose: string;
  parameters: ParameterSpec[];
  refused?: RefusedParameter[];
  body: BodyKind;
  /** A correct body, as an error shows it; empty when there is none. */
  bodyExample: string;
}

const filePath: ParameterSpec = {
  name: 'File Path',
  aliases: ['path', 'file'],
  type: 'path',
  required: true,
  purpose: "relative to the project's root",
  example: '[src/app.ts](/src/app.ts)',
};

const resource: ParameterSpec = {
  name: 'Resource',
  aliases: ['file path', 'path', 'file', 'url'],
  type: 'resource',
  required: true,
  purpose: 'a file of the project, or a URL',
  example: '[src/app.ts](/src/app.ts)',
};

const description = optional('Description', 'text', 'what the action is for, in one line', 'Register the login route.');

export const actionSpecs: ActionSpec[] = [
  {
    type: 'CREATE',
    purpose: 'writes a new file',
    parameters: [
      filePath,
      description,
      optional('Overwrite', 'boolean', 'replaces a file that is there already', 'true'),
    ],
    body: 'content',
    bodyExample: '```ts\nexport const answer = 42;\n```',
  },
  {
    type: 'EDIT',
    purpose: 'changes a file that is there',
    parameters: [
      filePath,
      description,
      optional('Match All', 'boolean', 'replaces every place that FIND matches', 'true', ['replace all']),
    ],
    body: 'pairs',
    bodyExample: '#### FIND:\n```ts\nconst answer = 41;\n```\n#### REPLACE:\n```ts\nconst answer = 42;\n```',
  },
  {
    type: 'READ',
    purpose: 'shows a file or a public page of the web, and keeps it in the context of the next turn',
    parameters: [
      { ...resource, purpose: 'a file of the project that git does not ignore, or an `https://` URL' },
      optional('Lines', 'lines', '`10-20`, `-20` (up to line 20), `50-` (from line 50) or `5`', '10-20'),
      description,
    ],
    body: 'none',
    bodyExample: '',
  },
  {
    type: 'EXECUTE',
    purpose: 'runs a shell script; it stops at the first command that fails',
    parameters: [
      description,
      optional('Expected Outcome', 'text', 'what it should print or do', 'All tests pass.'),
      optional('cwd', 'directory', 'a directory of the project to run in', 'packages/api', ['working directory']),
      optional(
        'env',
        'env',
        'a nested list, one `KEY: value` a line; quotes around a whole value are taken off',
        '\n  - CI: 1',
        ['environment', 'environment variables'],
      ),
      optional('Timeout', 'seconds', 'in seconds', '60'),
      optional('Allow Failure', 'boolean', 'goes on with the next action when the script fails', 'true'),
      optional('Tail', 'number', 'how many of the last lines of output are reported', '50'),
    ],
    refused: [
      {
        names: [
          'background',
          'run in background',
          'in background',
          'background process',
          'detached',
          'detach',
          'daemon',
        ],
        problem: 'EXECUTE runs nothing in the background: what a script starts ends with the script.',
        hint: 'Leave `Background` out; start the server, use it and stop it in one script: `npm start & server=$!`, the checks, `kill $server`.',
      },
    ],
    body: 'script',
    bodyExample: '```sh\nnpm test\n```',
  },
  {
    type: 'RESEARCH',
    purpose: "searches the web with the user's own search command, and reports what it prints",
    parameters: [description],
    body: 'queries',
    bodyExample: '```\nnode 20 stream backpressure\n```',
  },
  {
    type: 'PRUNE',
    purpose: 'takes a file or a page out of the context of the next turn',
    parameters: [resource, description],
    body: 'none',
    bodyExample: '',
  },
  {
    type: 'CHAT_WITH_USER',
    purpose: 'says something to the user and waits for an answer',
    parameters: [],
    body: 'markdown',
    bodyExample: 'Which database do you want to use?',
  },
  {
    type: 'PROMPT',
    purpose: 'is the same as CHAT_WITH_USER',
    parameters: [],
    body: 'markdown',
    bodyExample: 'Which database do you want to use?',
  },
  {
    type: 'INVOKE',
    purpose: 'hands the next turn to another agent, with a message to it',
    parameters: [{ ...optional('Agent', 'text', 'the name of the agent', 'dev'), required: true }, description],
    body: 'markdown',
    bodyExample: 'Implement the route as the plan of this turn describes it.',
  },
];

/** Reads an action's name in any case, with stray symbols and a number around it: `` 2. `chat with user`: ``. */
export function findActionSpec(heading: string): ActionSpec | undefined {
  const words = heading.toUpperCase().match(/[A-Z]+/g) ?? [];
  const name = (words[0] === 'ACTION' ? words.slice(1) : words).join('_');
  return actionSpecs.find((spec) => spec.type === name);
}

export function findParameterSpec(spec: ActionSpec, key: string): ParameterSpec | undefined {
  const wanted = foldKey(key);
  return spec.parameters.find(({ name, aliases }) => [name, ...aliases].some((known) => foldKey(known) === wanted));
}

export function findRefusedParameter(spec: ActionSpec, key: string): RefusedParameter | undefined {
  const wanted = foldKey(key);
  return spec.refused?.find(({ names }) => names.some((name) => foldKey(name) === wanted));
}

/** Keys are compared without case, spaces, hyphens and marks. */
function foldKey(key: string): string {
  return key.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** A parameter as a plan writes it. */
export function renderParameter(spec: ParameterSpec): string {
  return `- **${spec.name}:**${spec.type === 'env' ? '' : ' '}${spec.example}`;
}

function optional(
  name: string,
  type: ParameterType,
  purpose: string,
  example: string,
  aliases: string[] = [],
): ParameterSpec {
  return { name, aliases, type, required: false, purpose, example };
}
