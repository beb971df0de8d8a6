/** Replaces `once` of `lib/kit/once.ts` in mutation tests: each test computes the values again, so that it runs their code. */
let currentTest = 0;

/** Discards all values; called before each test. */
export const startTest = (): void => void currentTest++;

export function once<T>(compute: () => T): () => T {
  let computed: { value: T; testNumber: number } | undefined;
  return () => {
    if (computed?.testNumber !== currentTest) computed = { value: compute(), testNumber: currentTest };
    return computed.value;
  };
}
