/** A corpus of answers as models write them, good and broken, and how each is parsed, word for word. */
import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { isPlan, parsePlan } from '../../src/plan/parse/parse.ts';
import type { Problem } from '../../src/plan/match/problem.ts';
import type { Action } from '../../src/plan/plan.ts';

const answers = new URL('../../fixtures/answers/', import.meta.url);

interface Expected {
  /** The type, and every given parameter. */
  actions?: string[];
  /** `line:column message`, and the hint after an arrow. */
  notes?: string[];
  problems?: string[];
}

const table: Record<string, Expected> = {
  'a-diff': {
    problems: [
      '13:1 Found a fence without a label, expected FIND or REPLACE before it. -> #### FIND:\n```ts\nconst answer = 41;\n```\n#### REPLACE:\n```ts\nconst answer = 42;\n```',
    ],
  },
  'action-below-message': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    problems: [
      '21:1 Found the action "### `EXECUTE`" outside of the Action Plan, where it would not run. -> Put it below `## Action Plan`, as `### EXECUTE`.',
    ],
  },
  'action-plan-as-h3': {
    problems: [
      '8:1 Found the action "#### CREATE" outside of the Action Plan, where it would not run. -> Put it below `## Action Plan`, as `### CREATE`.',
    ],
  },
  'actions-as-h1': {
    actions: ['CREATE {"path":"src/login.ts","content":"export const login = 1;\\n"}'],
    problems: ['10:1 Found the action "# CREATE" as a heading of level 1, expected level 3. -> ### CREATE'],
  },
  'actions-as-h2': {
    problems: [
      '10:1 Found the action "## CREATE" outside of the Action Plan, where it would not run. -> Put it below `## Action Plan`, as `### CREATE`.',
      '17:1 Found the action "## EXECUTE" outside of the Action Plan, where it would not run. -> Put it below `## Action Plan`, as `### EXECUTE`.',
    ],
  },
  'actions-as-h4': {
    actions: [
      'CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}',
      'EXECUTE {"description":"Run the tests.","script":"npm test\\n"}',
    ],
    problems: [
      '10:1 Found the action "#### CREATE" as a heading of level 4, expected level 3. -> ### CREATE',
      '18:1 Found the action "#### EXECUTE" as a heading of level 4, expected level 3. -> ### EXECUTE',
    ],
  },
  'actions-below-phases': {
    notes: [
      '5:1 The section "Phase 1" is not known; it is ignored.',
      '15:1 The section "Phase 2" is not known; it is ignored.',
    ],
    problems: [
      '7:1 Found the action "### `CREATE`" outside of the Action Plan, where it would not run. -> Put it below `## Action Plan`, as `### CREATE`.',
      '17:1 Found the action "### `EXECUTE`" outside of the Action Plan, where it would not run. -> Put it below `## Action Plan`, as `### EXECUTE`.',
    ],
  },
  'actions-below-the-title': {
    problems: [
      '4:1 Found the action "### `CREATE`" outside of the Action Plan, where it would not run. -> Put it below `## Action Plan`, as `### CREATE`.',
    ],
  },
  'actions-below-vault': {
    problems: [
      '6:1 Found the action "### `CREATE`" outside of the Action Plan, where it would not run. -> Put it below `## Action Plan`, as `### CREATE`.',
    ],
  },
  'actions-below-verification': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: ['18:1 The section "Verification" is not known; it is ignored.'],
    problems: [
      '20:1 Found the action "### `EXECUTE`" outside of the Action Plan, where it would not run. -> Put it below `## Action Plan`, as `### EXECUTE`.',
    ],
  },
  'actions-in-bold': {
    problems: ['5:1 Found text before the first action: "**CREATE**". -> An action begins with a heading: ### CREATE'],
  },
  'answer-and-plan-tags': {
    actions: ['EXECUTE {"description":"Run the tests.","script":"npm test\\n"}'],
    notes: ['4:1 The plan is what stands in <plan>; the text outside of it is ignored.'],
  },
  'background-false': {
    actions: ['EXECUTE {"description":"Run the tests.","script":"npm test\\n"}'],
    notes: ['12:1 EXECUTE has no parameter "Background"; it is ignored.'],
  },
  background: {
    problems: [
      '12:1 EXECUTE runs nothing in the background: what a script starts ends with the script. -> Leave `Background` out; start the server, use it and stop it in one script: `npm start & server=$!`, the checks, `kill $server`.',
    ],
  },
  'chat-with-user': {
    actions: ['CHAT_WITH_USER {"text":"Which port?\\n\\n- 3000\\n- 8080"}'],
  },
  'conflict-markers': {
    problems: [
      '13:1 Found a fence without a label, expected FIND or REPLACE before it. -> #### FIND:\n```ts\nconst answer = 41;\n```\n#### REPLACE:\n```ts\nconst answer = 42;\n```',
    ],
  },
  'content-without-fence': {
    problems: [
      '13:1 Found "export const login = 1;", expected a fence with the content of CREATE. -> ```ts\nexport const answer = 42;\n```',
    ],
  },
  'delete-and-run': {
    problems: [
      '10:1 Unknown action "DELETE"; expected one of CREATE, EDIT, READ, EXECUTE, RESEARCH, PRUNE, CHAT_WITH_USER, PROMPT, INVOKE. -> Do that with a script: ### EXECUTE',
      '13:1 Unknown action "RUN"; expected one of CREATE, EDIT, READ, EXECUTE, RESEARCH, PRUNE, CHAT_WITH_USER, PROMPT, INVOKE. -> Do that with a script: ### EXECUTE',
    ],
  },
  'env-and-cwd': {
    actions: [
      'EXECUTE {"description":"Run the tests.","script":"npm test\\n","expectedOutcome":"All pass.","cwd":"packages/api","env":{"NODE_ENV":"test","CI":"1"},"timeoutMs":300000,"allowFailure":true,"tail":40}',
    ],
  },
  'env-as-json': {
    problems: ['12:12 env "{"CI": "1"}": expected `KEY: value`. -> - **env:**\n  - CI: 1'],
  },
  'env-in-quotes': {
    actions: [
      'EXECUTE {"description":"Run the tests.","script":"npm test\\n","env":{"GREETING":"hello world","NAME":"Ada L.","TOKEN":"abc","MODE":"\\"quoted\\"","BOTH":"\\"a\\" \\"b\\"","SAID":"say \\"hi\\"","TWICE":"\\"x\\""}}',
    ],
  },
  'env-of-two-on-one-line': {
    problems: [
      '12:12 env "CI=1, NODE_ENV=test": expected one pair, with more of them in a nested list, one `KEY: value` a line. -> - **env:**\n  - CI: 1',
    ],
  },
  'env-on-one-line': {
    actions: ['EXECUTE {"description":"Run the tests.","script":"npm test\\n","env":{"CI":"1"}}'],
  },
  explore: {
    actions: [
      'READ {"description":"What is it?","resource":{"kind":"path","path":"README.md"}}',
      'READ {"resource":{"kind":"path","path":"src/app.ts"},"lines":"1-40"}',
      'READ {"resource":{"kind":"url","url":"https://nodejs.org/api/stream.html"}}',
    ],
  },
  'fence-after-edit': {
    problems: [
      '23:1 Found a fence without a label, expected FIND or REPLACE before it. -> If it belongs to the content, the fence around the content has to be longer: ````. Else leave it out, or make it an action of its own.',
    ],
  },
  'fence-at-the-end': {
    problems: [
      '18:1 CREATE has a second fence, expected one. -> If it belongs to the content, the fence around the content has to be longer: ````. Else leave it out, or make it an action of its own.',
    ],
  },
  'fence-never-closed': {
    problems: [
      '14:1 The answer was cut off: the fence "```" that opens here is never closed. -> Close it with a line of ``` only, and make it longer than any fence inside it.',
    ],
  },
  'hashtag-before-title': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: ['1:1 The text before the title is ignored.'],
  },
  'headings-without-blanks': {
    actions: ['CREATE {"path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: [
      '1:1 "#Add the login route" is read as a heading; a blank is missing behind its marks.',
      '4:1 "##Rationale" is read as a heading; a blank is missing behind its marks.',
      '7:1 "##Action Plan" is read as a heading; a blank is missing behind its marks.',
      '9:1 "###CREATE" is read as a heading; a blank is missing behind its marks.',
    ],
  },
  'invoke-description-only': {
    actions: [
      'INVOKE {"description":"Implement the plan of this turn.","agent":"dev","text":"Implement the plan of this turn."}',
    ],
  },
  'invoke-nothing': {
    problems: ['10:1 INVOKE says nothing. -> Implement the route as the plan of this turn describes it.'],
  },
  'invoke-with-body': {
    actions: ['INVOKE {"description":"Hand over.","agent":"dev","text":"Build the route as planned."}'],
  },
  'last-action-as-h2-in-code': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    problems: [
      '18:1 Found the action "## `EXECUTE`" outside of the Action Plan, where it would not run. -> Put it below `## Action Plan`, as `### EXECUTE`.',
    ],
  },
  'last-action-as-h2': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    problems: [
      '18:1 Found the action "## EXECUTE" outside of the Action Plan, where it would not run. -> Put it below `## Action Plan`, as `### EXECUTE`.',
    ],
  },
  'markdown-file': {
    actions: [
      'CREATE {"description":"A guide.","path":"docs/guide.md","content":"# Guide\\n\\n```sh\\nnpm start\\n```\\n\\n## EXECUTE\\n"}',
    ],
  },
  'memos-and-vault': {
    actions: ['EXECUTE {"description":"Run the tests.","script":"npm test\\n"}'],
  },
  'message-only': {},
  'no-action-plan-heading': {
    problems: [
      '6:1 Found the action "### `CREATE`" outside of the Action Plan, where it would not run. -> Put it below `## Action Plan`, as `### CREATE`.',
      '14:1 Found the action "### `EXECUTE`" outside of the Action Plan, where it would not run. -> Put it below `## Action Plan`, as `### EXECUTE`.',
    ],
  },
  'notes-section': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: ['18:1 The section "Notes" is not known; it is ignored.'],
  },
  'numbered-labels': {
    actions: [
      'EDIT {"description":"Register it.","path":"src/app.ts","pairs":[{"find":"const routes = {};\\n","replace":"const routes = { login };\\n"}]}',
    ],
  },
  'numbered-parameters': {
    actions: [
      'CREATE {"description":"The handler, and nothing else.","path":"src/login.ts","content":"export const login = 1;\\n"}',
      'EXECUTE {"description":"Run it.","script":"npm test\\n","env":{"CI":"1"}}',
    ],
    notes: [
      '11:1 The parameters are no list of bullets; they are read as one.',
      '20:1 The parameters are no list of bullets; they are read as one.',
    ],
  },
  'old-and-new': {
    problems: [
      '14:1 Found text that belongs to no part of EDIT: "#### OLD:". -> #### FIND:\n```ts\nconst answer = 41;\n```\n#### REPLACE:\n```ts\nconst answer = 42;\n```',
    ],
  },
  'one-action-as-h4': {
    actions: [
      'CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}',
      'EXECUTE {"description":"Run the tests.","script":"npm test\\n"}',
    ],
    problems: ['18:1 Found the action "#### 2. EXECUTE" as a heading of level 4, expected level 3. -> ### EXECUTE'],
  },
  'only-actions': {
    notes: ['5:1 The text after the title is ignored.'],
    problems: [
      '1:1 Found the action "# CREATE" outside of the Action Plan, where it would not run. -> Put it below `## Action Plan`, as `### CREATE`.',
    ],
  },
  'path-angle-brackets': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: ['11:18 File Path "<src/login.ts>": the angle brackets around it are taken off.'],
  },
  'path-arrow': {
    problems: [
      '11:18 File Path "src/login.ts -> src/auth.ts": it has `>` in it. -> - **File Path:** [src/app.ts](/src/app.ts)\nGive the path alone. If the name is like that, write it in back-ticks: `src/login.ts -> src/auth.ts`',
    ],
  },
  'path-bold-code': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
  },
  'path-code-and-remark': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: ['11:18 File Path "`src/login.ts` (new file)": the text behind the path, "(new file)", is ignored.'],
  },
  'path-code-line-number': {
    problems: [
      '11:18 File Path "`src/login.ts:10-20`": it has line numbers behind the path, ":10-20". -> - **File Path:** [src/app.ts](/src/app.ts)\nGive the path alone. If the name is like that, write it as a link: [src/login.ts:10-20](/src/login.ts:10-20)',
    ],
  },
  'path-cwd-and-read': {
    actions: [
      'READ {"resource":{"kind":"path","path":"docs/a b.md"}}',
      'READ {"resource":{"kind":"url","url":"https://example.com/a"}}',
      'EXECUTE {"description":"Run the tests.","script":"npm test\\n","cwd":"packages/api"}',
      'EXECUTE {"description":"Run the tests.","script":"npm test\\n"}',
    ],
    notes: [
      '11:17 Resource ""docs/a b.md"": the quotes around it are taken off.',
      '18:12 cwd ""packages/api"": the quotes around it are taken off.',
    ],
  },
  'path-full-stop': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: ['11:18 File Path "`src/login.ts`.": the text behind the path, ".", is ignored.'],
  },
  'path-half-code': {
    problems: [
      '11:18 File Path "src/`login.ts`": it has a back-tick in it. -> - **File Path:** [src/app.ts](/src/app.ts)\nGive the path alone. If the name is like that, write it as a link: [src/`login.ts`](/src/%60login.ts%60)',
    ],
  },
  'path-half-quoted': {
    problems: [
      '11:18 File Path ""src" login.ts": only a part of it stands in quotes. -> - **File Path:** [src/app.ts](/src/app.ts)\nGive the path alone. If the name is like that, write it in back-ticks: `"src" login.ts`',
    ],
  },
  'path-in-the-heading': {
    problems: [
      '10:1 Unknown action "CREATE: src/login.ts"; expected one of CREATE, EDIT, READ, EXECUTE, RESEARCH, PRUNE, CHAT_WITH_USER, PROMPT, INVOKE. -> Write `### CREATE` and nothing behind it; the rest goes into parameters below.',
    ],
  },
  'path-italics': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: ['11:18 File Path "*src/login.ts*": the asterisks around it are taken off.'],
  },
  'path-line-number': {
    problems: [
      '11:18 File Path "src/login.ts:10": it has line numbers behind the path, ":10". -> - **File Path:** [src/app.ts](/src/app.ts)\nGive the path alone. If the name is like that, write it as a link: [src/login.ts:10](/src/login.ts:10)',
    ],
  },
  'path-link-and-remark': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: ['11:18 File Path "[login.ts](/src/login.ts) - new": the text behind the path, "- new", is ignored.'],
  },
  'path-link-to-a-heading': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: [
      '11:18 File Path "[login](/src/login.ts#the-handler)": "#the-handler" at its end names a place in the file, and is taken off.',
    ],
  },
  'path-link-to-a-line': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: [
      '11:18 File Path "[login.ts](/src/login.ts#L10)": "#L10" at its end names a place in the file, and is taken off.',
    ],
  },
  'path-link-to-a-range': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: [
      '11:18 File Path "[login.ts](/src/login.ts#L10-L20)": "#L10-L20" at its end names a place in the file, and is taken off.',
    ],
  },
  'path-plain-comment': {
    problems: [
      '11:18 File Path "src/login.ts # new": it has the remark "# new" behind the path. -> - **File Path:** [src/app.ts](/src/app.ts)\nGive the path alone. If the name is like that, write it as a link: [src/login.ts # new](/src/login.ts%20%23%20new)',
    ],
  },
  'path-plain-dash': {
    problems: [
      '11:18 File Path "src/login.ts - the handler": it has the remark "- the handler" behind the path. -> - **File Path:** [src/app.ts](/src/app.ts)\nGive the path alone. If the name is like that, write it in back-ticks: `src/login.ts - the handler`',
    ],
  },
  'path-plain-remark': {
    problems: [
      '11:18 File Path "src/login.ts (new file)": it has the remark "(new file)" behind the path. -> - **File Path:** [src/app.ts](/src/app.ts)\nGive the path alone. If the name is like that, write it in back-ticks: `src/login.ts (new file)`',
    ],
  },
  'path-quotes-and-remark': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: [
      '11:18 File Path ""src/login.ts" (new)": the quotes around it are taken off; the text behind the path, "(new)", is ignored.',
    ],
  },
  'path-quotes': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: ['11:18 File Path ""src/login.ts"": the quotes around it are taken off.'],
  },
  'path-really-backtick': {
    actions: ['CREATE {"description":"The handler.","path":"src/`a`.ts","content":"export const login = 1;\\n"}'],
  },
  'path-really-hash': {
    actions: ['CREATE {"description":"The handler.","path":"src/c#L1.ts","content":"export const login = 1;\\n"}'],
  },
  'path-really-line': {
    actions: ['CREATE {"description":"The handler.","path":"src/a.ts#L10","content":"export const login = 1;\\n"}'],
  },
  'path-really-quotes': {
    actions: ['CREATE {"description":"The handler.","path":"\\"odd\\".ts","content":"export const login = 1;\\n"}'],
  },
  'path-really-remark': {
    actions: ['CREATE {"description":"The handler.","path":"src/copy.ts (1)","content":"export const login = 1;\\n"}'],
  },
  'path-single-quotes': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: ['11:18 File Path "\'src/login.ts\'": the quotes around it are taken off.'],
  },
  'path-spaces-and-brackets': {
    actions: [
      'CREATE {"description":"The handler.","path":"docs/My notes (draft) [1].md","content":"export const login = 1;\\n"}',
    ],
  },
  'path-two-codes': {
    problems: [
      '11:18 File Path "`src/login.ts` and `src/app.ts`": it names more than one file. -> - **File Path:** [src/app.ts](/src/app.ts)\nGive the path alone; each action names one file.',
    ],
  },
  'path-two-paths': {
    problems: [
      '11:18 File Path "src/login.ts, src/app.ts": it names more than one file. -> - **File Path:** [src/app.ts](/src/app.ts)\nGive the path alone; each action names one file.',
    ],
  },
  'path-typographic-quotes': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: ['11:18 File Path "“src/login.ts”": the quotes around it are taken off.'],
  },
  'plain-parameters': {
    actions: [
      'CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}',
      'READ {"resource":{"kind":"path","path":"src/app.ts"}}',
    ],
    notes: [
      '11:1 The parameters are no list of bullets; they are read as one.',
      '19:1 The parameters are no list of bullets; they are read as one.',
    ],
  },
  'plain-three-actions': {
    actions: [
      'CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}',
      'EDIT {"description":"Register it.","path":"src/app.ts","pairs":[{"find":"const routes = {};\\n","replace":"const routes = { login };\\n"}]}',
      'EXECUTE {"description":"Run the tests.","script":"npm test\\n"}',
    ],
  },
  'plan-and-message': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
  },
  'plan-tags': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: ['1:1 The plan is what stands in <plan>; the text outside of it is ignored.'],
  },
  'rationale-names-actions': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
  },
  'research-and-prune': {
    actions: [
      'RESEARCH {"description":"Find out.","queries":["node stream backpressure"]}',
      'PRUNE {"resource":{"kind":"path","path":"src/old.ts"}}',
    ],
  },
  'run-in-background': {
    problems: [
      '12:1 EXECUTE runs nothing in the background: what a script starts ends with the script. -> Leave `Background` out; start the server, use it and stop it in one script: `npm start & server=$!`, the checks, `kill $server`.',
    ],
  },
  'search-and-replace-with': {
    actions: [
      'EDIT {"description":"Register it.","path":"src/app.ts","pairs":[{"find":"const routes = {};\\n","replace":"const routes = { login };\\n"}]}',
    ],
    notes: ['14:1 "**SEARCH:**" is taken for FIND.', '18:1 "**REPLACE WITH:**" is taken for REPLACE.'],
  },
  'search-label': {
    actions: [
      'EDIT {"description":"Register it.","path":"src/app.ts","pairs":[{"find":"const routes = {};\\n","replace":"const routes = { login };\\n"}]}',
    ],
    notes: ['14:1 "#### SEARCH:" is taken for FIND.'],
  },
  'second-action-in-bold': {
    problems: [
      '18:1 Found text that belongs to no part of CREATE: "**EXECUTE**". -> An action begins with a heading: ### EXECUTE',
    ],
  },
  'sentence-after-read': {
    problems: [
      '13:1 Found text that belongs to no part of READ: "Then I will plan the change.". -> Leave it out, or put it under `## Rationale` or `## Message`: an Action Plan holds nothing but actions.',
    ],
  },
  'sentence-at-the-end': {
    problems: [
      '18:1 Found text that belongs to no part of CREATE: "Let me know if I should add tests!". -> Leave it out, or put it under `## Rationale` or `## Message`: an Action Plan holds nothing but actions.',
    ],
  },
  'separated-by-rules': {
    actions: [
      'CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}',
      'EXECUTE {"description":"Run the tests.","script":"npm test\\n"}',
    ],
    notes: ['18:1 A separator is skipped.'],
  },
  'tags-and-fence': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: [
      '1:1 The plan is what stands in <plan>; the text outside of it is ignored.',
      '2:1 The answer is wrapped in a fence, which is taken off.',
    ],
  },
  'thoughts-before': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: ['1:1 The text in <think> is ignored.'],
  },
  'title-without-blank': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: ['1:1 "#Add the login route" is read as a heading; a blank is missing behind its marks.'],
  },
  'vault-with-remarks': {
    actions: ['EXECUTE {"description":"Run the tests.","script":"npm test\\n"}'],
    notes: [
      '4:1 "`src/app.ts` (the routes)": the text behind the path, "(the routes)", is ignored.',
      '5:1 "[login](/src/login.ts) - new": the text behind the path, "- new", is ignored.',
    ],
  },
  'whole-file': {
    actions: ['EDIT {"path":"VERSION","pairs":[{"find":null,"replace":"1.2.0\\n"}]}'],
  },
  'words-as-actions': {
    problems: [
      '10:1 Unknown action "1. Create the handler"; expected one of CREATE, EDIT, READ, EXECUTE, RESEARCH, PRUNE, CHAT_WITH_USER, PROMPT, INVOKE. -> Write `### CREATE` and nothing behind it; the rest goes into parameters below.',
    ],
  },
  'wrapped-in-a-fence': {
    actions: ['CREATE {"description":"The handler.","path":"src/login.ts","content":"export const login = 1;\\n"}'],
    notes: [
      '1:1 The text outside of the fence around the plan is ignored.',
      '3:1 The answer is wrapped in a fence, which is taken off.',
    ],
  },
  'xml-file': {
    actions: ['CREATE {"path":"plan.xml","content":"<plan>\\n</plan>\\n"}'],
  },
};

/** The place and order of the actions are visible in the table anyway. */
const places = ['type', 'index', 'line', 'column'];

function describeAction(action: Action): string {
  const isGiven = ([name, value]: [string, unknown]) =>
    value !== null && value !== false && !(name === 'cwd' && value === '.') && JSON.stringify(value) !== '{}';
  const given = Object.fromEntries(Object.entries(action).filter(isGiven));
  return `${action.type} ${JSON.stringify(given, (key, value: unknown) => (places.includes(key) ? undefined : value))}`;
}

function describeProblem({ line, column, message, hint }: Problem): string {
  return `${line}:${column} ${message}${hint === undefined ? '' : ` -> ${hint}`}`;
}

describe("models' answers", () => {
  test('every answer is in the table, and every row has an answer', () => {
    expect(readdirSync(answers).toSorted()).toEqual(
      Object.keys(table)
        .map((name) => `${name}.md`)
        .toSorted(),
    );
  });

  test.each(Object.entries(table))('%s', (name, { actions = [], notes = [], problems = [] }) => {
    const text = readFileSync(new URL(`${name}.md`, answers), 'utf8');
    const read = parsePlan(text, { projectRoot: '/home/dev/project' });
    expect(read.plan.actions.map(describeAction)).toEqual(actions);
    expect(read.problems.map(describeProblem)).toEqual(problems);
    expect(read.notes.map(describeProblem)).toEqual(notes);
    expect(isPlan(text)).toBe(true);
  });
});
