/** Makes IDs unique in order of arrival: `a`, `a-2`, `a-3`. Equal IDs in equal order produce equal results. */
export interface UniqueIds {
  /** Returns the ID itself if it is still free. */
  take(id: string): string;
}

/** `maxLength` limits the returned IDs; long ones are cut. */
export function openUniqueIds(maxLength = Number.POSITIVE_INFINITY): UniqueIds {
  const taken = new Set<string>();
  // The next number for each ID with copies, because an ID may occur many thousands of times.
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
