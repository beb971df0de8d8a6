/**
 * Returns a function that makes a value at its first call and returns the same value afterwards, so that values which few
 * requests need do not slow down the start. A promise that rejects is forgotten: the next call makes another.
 */
export function once<T>(make: () => T): () => T {
  let cached: { value: T } | undefined;
  return () => {
    if (cached) return cached.value;
    const value = make();
    cached = { value };
    if (value instanceof Promise) value.catch(() => (cached = undefined));
    return value;
  };
}
