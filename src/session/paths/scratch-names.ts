/** The names of temporary directories that a killed process leaves behind, and of the file that identifies their owner. */

/** The prefix of a running script's directory. */
export const scriptPrefix = 'teddy-run-';
/** The prefix of the directory for `replay --run-commands`. */
export const replayPrefix = 'teddy-replay-';
export const scratchPrefixes = [scriptPrefix, replayPrefix];
/** The file in each of these directories with the owner's process name and, on a second line, the repository. */
export const scratchHolder = 'holder';
