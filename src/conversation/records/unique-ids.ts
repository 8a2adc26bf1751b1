/** Makes ids unique in the order of their arrival: `a`, `a-2`, `a-3`. The same ids in the same order give the same result. */
export interface UniqueIds {
  /** Returns the id itself if it is still free. */
  take(id: string): string;
}

/** `maxLength` limits the ids that are given out; long ones are cut. */
export function openUniqueIds(maxLength = Number.POSITIVE_INFINITY): UniqueIds {
  const taken = new Set<string>();
  // The next number for an id with copies, because the same id may occur many thousand times.
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
