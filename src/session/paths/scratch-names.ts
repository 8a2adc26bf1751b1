/** The names of temporary directories that a killed process leaves behind, and of the file that identifies their owner. */

/** The prefix of the directory of a running script. */
export const scriptPrefix = 'teddy-run-';
/** The prefix of the directory of `replay --run-commands`. */
export const replayPrefix = 'teddy-replay-';
export const scratchPrefixes = [scriptPrefix, replayPrefix];
/** The file in such a directory that holds its process's name and, on a second line, the repository. */
export const scratchHolder = 'holder';
