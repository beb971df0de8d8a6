/** The reader's own way of writing figures and days. The words are English; what stands in them is as their browser writes it. */

/** The first of the browser's languages in which anything can be written; some hosts name ones that are none, as `en-US@posix`. */
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
