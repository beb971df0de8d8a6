/**
 * Returns a function that creates a value at its first call and returns the same value afterwards, so that values which few
 * requests need do not slow down the start. A promise that rejects is dropped: the next call creates another.
 */
export function once<T>(create: () => T): () => T {
  let cached: { value: T } | undefined;
  return () => {
    if (cached) return cached.value;
    const value = create();
    cached = { value };
    if (value instanceof Promise) value.catch(() => (cached = undefined));
    return value;
  };
}
