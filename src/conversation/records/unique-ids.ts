/** Makes ids unique in the order in which they come: `a`, `a-2`, `a-3`. The same ids in the same order give the same. */
export interface UniqueIds {
  /** The id itself, if nothing has it yet. */
  take(id: string): string;
}

/** `maxLength`: of what is given; long ids are cut. */
export function openUniqueIds(maxLength = Number.POSITIVE_INFINITY): UniqueIds {
  const taken = new Set<string>();
  // For an id that has copies, the number of the next one: the same id may come many thousand times.
  const next = new Map<string, number>();
  const isNew = (id: string) => taken.size < taken.add(id).size;
  return {
    take(id) {
      const wanted = id.slice(0, maxLength);
      if (isNew(wanted)) return wanted;
      for (let number = next.get(wanted) ?? 2; ; number += 1) {
        const unique = withSuffix(wanted, `-${number}`, maxLength);
        if (!isNew(unique)) continue;
        next.set(wanted, number + 1);
        return unique;
      }
    },
  };
}

function withSuffix(id: string, suffix: string, maxLength: number): string {
  return `${id.slice(0, maxLength - suffix.length)}${suffix}`;
}
