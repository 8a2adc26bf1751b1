/** The plans of these tests. Running one of them twice comes to the same, so that a second try can succeed. */

const actions = `## Action Plan

### CREATE
- **File Path:** src/made.txt
- **Overwrite:** true

~~~
made by the plan
~~~

### CREATE
- **File Path:** src/kept.txt
- **Overwrite:** true

~~~
changed by the plan
~~~
`;

export const answerText = `# Make a file\n\n${actions}`;

export const memoText = 'Faults are tested.';
export const memoAnswerText = `# Make a file\n\n## Memos\n- [+] ${memoText}\n\n${actions}`;

/** Long enough to be saved several times while it arrives; no plan. */
export const slowAnswerText = Array.from({ length: 240 }, (_, at) => `Line ${at + 1} of an answer.\n`).join('');
