/** Stored settings: tokens and the draft for this tab, name and theme for this browser. */
import { type Value, createValue } from "./value.ts";

/** Creates a value in browser storage; in memory only where storage is switched off. */
function storedValue(storage: () => Storage, key: string, initial: string): Value<string> {
  const read = (): string => {
    try {
      return storage().getItem(key) ?? initial;
    } catch {
      return initial;
    }
  };
  const stored = createValue(read());
  stored.subscribe(() => {
    try {
      if (stored.get() === initial) storage().removeItem(key);
      else storage().setItem(key, stored.get());
    } catch {
      // Storage is switched off: the value stays in memory.
    }
  });
  return stored;
}

const tabValue = (key: string): Value<string> => storedValue(() => sessionStorage, `countersign.${key}`, "");
const browserValue = (key: string, initial = ""): Value<string> =>
  storedValue(() => localStorage, `countersign.${key}`, initial);

/** The reader's name, under which decisions are recorded; empty until it is entered. */
export const personName = browserValue("name");

/** The admin token, sent as `X-Svc-Admin-Token`; empty until it is entered. */
export const adminToken = tabValue("token");

/** The read token, sent as `X-Svc-Read-Token`; empty until it is entered. */
export const readToken = tabValue("read_token");

/** The proposal that is not sent yet, as JSON: the address of its form, and the draft. */
export const storedDraft = tabValue("draft");

/** `light`, `dark`, or empty for the system setting. */
export const theme = browserValue("theme");

/** Keyboard shortcuts: `on` or `off`. */
export const shortcuts = browserValue("shortcuts", "on");

/** This browser's newest receipt, `<origin> <length> <head>`, against which the log is verified. */
export const lastReceipt = browserValue("receipt");

/** Applies the chosen theme to the page, now and whenever it changes. */
export function followTheme(root: HTMLElement): void {
  const applyTheme = () => {
    if (theme.get() === "") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", theme.get());
  };
  applyTheme();
  theme.subscribe(applyTheme);
}
