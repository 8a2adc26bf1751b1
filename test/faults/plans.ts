/** The plans in these tests. Running one of them twice has the same result, so a second try can succeed. */

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

/** Long enough to be saved several times while it arrives; not a plan. */
export const slowAnswerText = Array.from({ length: 240 }, (_, at) => `Line ${at + 1} of an answer.\n`).join('');

/** Its scripts record beside the repository which of them were started. */
export const ranSuffix = '.ran';
const note = (word: string) => `echo ${word} >> "../$(basename "$PWD")${ranSuffix}"`;

/** Everything that a plan can do to files, and two scripts that must not be rerun without being asked. */
export const runText = planOfRun('true');
/** The same, with a failing last action. */
export const failingText = planOfRun('false');

function planOfRun(last: string): string {
  return `# Do it all

## Action Plan

### CREATE
- **File Path:** new/dir/made.txt

~~~
made by the plan
~~~

### EDIT
- **File Path:** src/edited.txt

#### FIND:
~~~
before
~~~

#### REPLACE:
~~~
after the plan
~~~

### EXECUTE
- **Description:** change files

~~~sh
${note('one')}
echo more >> src/kept.txt
chmod +x src/kept.txt
rm src/gone.txt
mkdir -p out/deep && echo new > out/deep/new.txt
echo more >> notes.txt
sleep 0.02
~~~

### CREATE
- **File Path:** src/kept.txt
- **Overwrite:** true

~~~
written over
~~~

### EXECUTE
- **Description:** the end

~~~sh
${note('two')}
echo end > end.txt
${last}
~~~
`;
}
