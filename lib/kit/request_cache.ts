/** Lookups that the parts of one response share. */
export interface RequestCache {
  /** Returns the result stored under this name; the first call runs `load`, and its failure is stored too. */
  once<T>(name: string, load: () => Promise<T>): Promise<T>;
  /** Drops all results, after the store has changed. */
  forget(): void;
}

function createRequestCache(): RequestCache {
  const results = new Map<string, Promise<unknown>>();
  return {
    once<T>(name: string, load: () => Promise<T>): Promise<T> {
      const result = results.get(name) ?? load();
      results.set(name, result);
      return result as Promise<T>;
    },
    forget: () => results.clear(),
  };
}

/**
 * Returns the dependencies with a request cache, for one response. The result inherits from `deps`, and is `deps` itself if they
 * have a cache.
 */
export const addRequestCache = <D extends { requestCache?: RequestCache | undefined }>(deps: D): D =>
  deps.requestCache
    ? deps
    : (Object.create(deps, { requestCache: { value: createRequestCache(), enumerable: true } }) as D);
