/** Directories in the temporary directory of the system that a killed process leaves behind, and the file that says whose they are. */

/** A script that runs has one. */
export const scriptPrefix = 'teddy-run-';
/** `replay --run-commands` has one. */
export const replayPrefix = 'teddy-replay-';
export const scratchPrefixes = [scriptPrefix, replayPrefix];
/** This file in one of them has the name of its process, and on a second line the repository. */
export const scratchHolder = 'holder';
