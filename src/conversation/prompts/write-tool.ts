/** A model's only tool for writing: the call announces a file, and the content follows as plain text. */
import { hasText } from '../records/import-values.ts';
import { parseObject } from '../../session/text/parse-object.ts';
import { operations } from '../../session/settings/write-limits.ts';

/** Returns the JSON Schema of an object with these properties and no others. */
export function objectOf<Properties extends object>(required: (keyof Properties)[], properties: Properties) {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** The tool as the model sees it. There is no content parameter, because models make mistakes in long JSON texts. */
export const beginTool = {
  name: 'WritePlanTool_begin',
  description:
    'Begins to write one file of the project. It takes no content: the content is your next answer, as plain text, ended by ' +
    'the end marker on a line of its own.',
  parameters: objectOf(['intent', 'target_file', 'operation'], {
    intent: { type: 'string', description: 'What the file is for, or what changes in it, in a short sentence.' },
    target_file: { type: 'string', description: 'The path of the file, relative to the root of the project.' },
    operation: {
      type: 'string',
      enum: [...operations],
      description: 'create makes a new file, overwrite replaces the whole of one, append adds to its end.',
    },
  }),
};

export interface BeginArguments {
  intent: string;
  target: string;
  /** Not checked here: the code that begins the session reports an invalid operation. */
  operation: string;
}

/** Returns the values of a call, or the correction for the model. */
export function parseToolCall(text: string): BeginArguments | { problem: string } {
  const value = parseObject(text);
  if (value === null) {
    return { problem: `The arguments are not a JSON object. ${callAgain}` };
  }
  const unknown = Object.keys(value).filter((name) => !(name in beginTool.parameters.properties));
  if (unknown.length > 0) {
    const names = unknown.map((name) => JSON.stringify(name.slice(0, 60))).join(', ');
    return { problem: `There is no parameter ${names}: content is never part of a call. ${callAgain}` };
  }
  const { intent, target_file: target, operation } = value;
  if (!hasText(target)) return { problem: `Target file path is required. ${callAgain}` };
  if (!hasText(operation)) {
    return { problem: `Invalid operation type. Must be 'create', 'overwrite', or 'append'. ${callAgain}` };
  }
  if (!hasText(intent)) return { problem: `The intent is required, as text. ${callAgain}` };
  return { intent, target, operation };
}

const callAgain =
  'Call it again with the texts intent, target_file and operation, and send the content as plain text after its result.';

/** Renders the result of a call that began a session, in JSON. */
export function renderBegun({
  record,
  directory,
  instructions,
}: {
  record: { id: string; target: string; endMarker: string };
  /** The absolute path of the session's staging directory. */
  directory: string;
  instructions: string;
}): string {
  return JSON.stringify({
    session_id: record.id,
    status: 'active',
    stage: 'awaiting_content',
    target_file: record.target,
    session_dir: directory,
    end_marker: record.endMarker,
    instructions,
  });
}

/** Renders the result of a call that did not begin a session, in JSON. */
export function renderToolError(problem: string): string {
  return JSON.stringify({ error: problem });
}
