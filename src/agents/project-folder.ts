/** The folders in which Claude Code and its kin keep the logs of one directory: its path, with a hyphen for every other character. */

/** Whether a folder of this name may hold logs of `directory`. A long name is cut, and ends with a hash of its own. */
export function isProjectOf(name: string, directory: string): boolean {
  const encoded = directory.replaceAll(/[^A-Za-z0-9]/g, '-');
  return name.startsWith(encoded) || (encoded.length > 200 && name.startsWith(encoded.slice(0, 200)));
}
