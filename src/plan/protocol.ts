/** The plan protocol at the end of every system prompt, rendered from the parser's own table. */
import type { ActionSpec, BodyKind } from './actions/spec.ts';
import { actionTypes } from './actions/actions.ts';

/**
 * Returns Markdown that contains `examplePlan` in a fence. `canSearch` is true when the user has configured a command
 * for RESEARCH; otherwise the protocol does not mention RESEARCH.
 */
export function renderProtocol({ canSearch }: { canSearch: boolean }): string {
  const actions = actionTypes.filter(({ type }) => canSearch || type !== 'RESEARCH').map(renderAction);
  return `${[introduction, actionsIntroduction, ...actions, rules, renderExample()].join('\n\n')}\n`;
}

/** A plan without problems that shows sections, fences and the most common actions. */
export const examplePlan = `# Add the login route

- **Status:** Green
- **Plan Type:** Implementation

## Rationale
The route table has no login. The handler gets a file of its own, so that it can be tested alone.

## Context Vault
- src/app.ts
- src/login.ts

## Memos
- [+] Handlers live in a file of their own.

## Action Plan

### CREATE
- **File Path:** [src/login.ts](/src/login.ts)
- **Description:** The handler.

\`\`\`ts
export function login(name: string): string {
  return \`Welcome, \${name}\`;
}
\`\`\`

### EDIT
- **File Path:** [src/app.ts](/src/app.ts)
- **Description:** Register the route.

#### FIND:
\`\`\`ts
const routes = {
  '/': home,
\`\`\`
#### REPLACE:
\`\`\`ts
const routes = {
  '/': home,
  '/login': login,
\`\`\`

### EXECUTE
- **Description:** Run the tests.
- **Expected Outcome:** All tests pass.
- **Timeout:** 60

\`\`\`sh
npm test
\`\`\`
`;

const introduction = `# How to answer

Answer with one plan in Markdown, and nothing before or after it. Its sections, in any order after the title:

- \`# Title\`: the first line, what the plan does; below it a list of metadata, \`- **Status:** Green\`.
- \`## Rationale\`: why, in free Markdown.
- \`## Context Vault\` (optional): a list of the files that you want to see in the next turn, one path a line. It replaces the current list.
- \`## Memos\` (optional): a list of facts to keep for all sessions (\`[+] fact\`) or to forget (\`[-] fact\`).
- \`## Action Plan\`: the actions, in the order in which they run.
- \`## Message\`: free Markdown to the user. It stands instead of an Action Plan when there is nothing to do, or after it.

One of \`## Action Plan\` and \`## Message\` has to be there. No section may be there twice.`;

const actionsIntroduction = `## The actions

An action is a heading \`### NAME\` below \`## Action Plan\`, then its parameters as a list of \`- **Key:** value\`, then its body. Nothing else
stands between actions or after the last one: say what you want to say in the Rationale or the Message. The whole plan is checked before anything runs; an action that fails stops the rest.`;

const bodies: Record<BodyKind, string> = {
  none: 'Body: none.',
  content: 'Body: one fence with the whole content of the file.',
  pairs:
    'Body: one or more pairs of `#### FIND:` and `#### REPLACE:`, each followed by a fence. A single REPLACE without FIND replaces the whole file.',
  script: 'Body: one fence with the script.',
  queries: 'Body: a fence, one query a line.',
  markdown: 'Body: free Markdown, up to the next action.',
};

const rules = `## The rules

- **Fences:** content is taken exactly as it stands between the fence lines. If it has fences itself, the fence around it must be longer: four
  back-ticks around three. Every fence is closed.
- **FIND is exact:** copy it from the file character for character, with its indentation, and without the line numbers of a listing. It must match at exactly one
  place; take in more lines until it does, or set Match All. Pairs apply one after the other, each to the result of those before it.
- **Paths** are relative to the project's root and stay inside it. \`.git\` and \`.teddy\` are out of reach. A path stands alone: no quotes,
  no line numbers, no remark behind it. A name with such characters in it stands in back-ticks.
- **Scripts** run in \`bash\` without input; they must not wait for a key. What a script starts ends with it: start a server, use it and
  stop it in one script.
- Never guess what a file says: READ it first, and edit it in the next turn.`;

function renderAction({ type, purpose, parameters, body }: ActionSpec): string {
  const list = parameters.map(({ name, purpose: meaning, required, type: kind }) => {
    const kinds = kind === 'boolean' ? ', `true` or `false`' : '';
    return `- ${name}${required ? ' (required)' : ''}: ${meaning}${kinds}`;
  });
  return `${[`### ${type}`, `It ${purpose}.`, ...list].join('\n')}\n\n${bodies[body]}`;
}

function renderExample(): string {
  return `## An example\n\n\`\`\`\`markdown\n${examplePlan}\`\`\`\``;
}
