/**
 * Makes a value when it is first asked for, so that what only some requests need costs no other start anything. A promise
 * that rejects is made again for the next who asks.
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
