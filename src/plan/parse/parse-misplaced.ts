/**
 * Reports actions in places where the parser reads none: in another section or before all sections. Otherwise they
 * would be dropped silently.
 */
import { findParameterSpec } from '../actions/spec.ts';
import { findActionType } from '../actions/actions.ts';
import { toParameterBullets } from './parse-loose.ts';
import { addProblem, excerpt, splitBullet, type Outline, type Reading, type Section } from './parse-outline.ts';
import { positionOf, type Block, type Heading } from './scan.ts';

/**
 * Returns true if an action begins here, at any heading level: the heading is an action's name, followed by one of its
 * parameters or, if the name is in capitals, by a fence.
 */
export function beginsAction(text: string, heading: Heading, next: Block | undefined): boolean {
  const spec = findActionType(heading.text);
  if (!spec || !next) return false;
  if (next.kind === 'fence') return isInCapitals(heading);
  const [first] = next.kind === 'paragraph' ? toParameterBullets(text, spec, [next]).blocks : [next];
  const key = first?.kind === 'bullet' ? splitBullet(first)?.key : undefined;
  return key !== undefined && findParameterSpec(spec, key) !== undefined;
}

/** The protocol writes names in capitals; a heading in ordinary letters may be an ordinary heading. */
function isInCapitals({ text }: Heading): boolean {
  return /[A-Z]{4}/.test(text) && !/[a-z]/.test(text);
}

/** Reports misplaced actions, and returns true if there are any. */
export function reportMisplaced(reading: Reading, { title, preamble, sections }: Outline): boolean {
  if (reading.grammar === 1) return false;
  const hasActionPlan = sections.some(({ name }) => name === 'action plan');
  const found = [
    ...(title && beginsAction(reading.text, title, preamble[0]) ? [title] : []),
    ...findHeadings(preamble, (heading) => findActionType(heading.text) !== undefined),
    ...sections.flatMap((section) => findMisplaced(reading.text, section, hasActionPlan)),
  ];
  for (const heading of found) {
    const written = excerpt(reading.text, heading.offset, heading.end);
    addProblem(
      reading,
      positionOf(heading),
      `Found the action "${written}" outside of the Action Plan, where it would not run.`,
      `Put it below \`## Action Plan\`, as \`### ${findActionType(heading.text)?.type}\`.`,
    );
  }
  return found.length > 0;
}

function findMisplaced(text: string, { name, heading, blocks }: Section, hasActionPlan: boolean): Heading[] {
  const begins = (found: Heading, next: Block | undefined) => beginsAction(text, found, next);
  switch (name) {
    case null: {
      const isAction = findActionType(heading.text) !== undefined;
      const below = findHeadings(blocks, (found, next) => {
        return findActionType(found.text) !== undefined && (isInCapitals(found) || begins(found, next));
      });
      return isAction ? [heading, ...below] : below;
    }
    case 'action plan':
      return [];
    case 'rationale':
      // In a rationale, mentions of later actions are text.
      return hasActionPlan ? [] : findHeadings(blocks, begins);
    case 'message':
      return findHeadings(blocks, begins);
    default:
      return findHeadings(blocks, (found) => findActionType(found.text) !== undefined);
  }
}

function findHeadings(blocks: readonly Block[], test: (heading: Heading, next: Block | undefined) => boolean) {
  return blocks.filter((block, at): block is Heading => block.kind === 'heading' && test(block, blocks[at + 1]));
}
