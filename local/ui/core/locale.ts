/** The locale of numbers and dates. Texts are English; numbers and dates follow the reader's browser. */

/** Returns the first supported locale; some browsers list invalid ones such as `en-US@posix`. */
export function findUsableLocale(candidates: readonly string[]): string {
  const usable = candidates.find((one) => {
    try {
      return Intl.NumberFormat.supportedLocalesOf(one).length > 0;
    } catch {
      return false;
    }
  });
  return usable ?? "en-GB";
}

const browser: Partial<Navigator> | undefined = globalThis.document && globalThis.navigator;

/** The reader's locale. */
export const LOCALE = findUsableLocale(browser?.languages ?? []);
