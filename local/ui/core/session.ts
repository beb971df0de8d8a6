/** Who sits at this window: the token for as long as the tab lives, name and look for as long as the browser does. */
import { type Value, createValue } from "./value.ts";

/** Storage may be switched off; the console then forgets instead of failing. */
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
      // kept in memory only
    }
  });
  return stored;
}

const tabValue = (key: string): Value<string> => storedValue(() => sessionStorage, `countersign.${key}`, "");
const browserValue = (key: string, initial = ""): Value<string> =>
  storedValue(() => localStorage, `countersign.${key}`, initial);

/** The name under which decisions are made; empty until it is given. */
export const personName = browserValue("name");

/** The admin token, sent as `X-Svc-Admin-Token`; empty until it is given. */
export const adminToken = tabValue("token");

/** A token that opens reads, and no write that needs one, sent as `X-Svc-Read-Token`; empty until it is given. */
export const readToken = tabValue("read_token");

/** A proposal that is being written, as JSON: the address it was begun with, and the draft. */
export const storedDraft = tabValue("draft");

/** `light`, `dark`, or empty: as the system has it. */
export const theme = browserValue("theme");

/** `on` or `off`: whether single keys do anything. */
export const shortcuts = browserValue("shortcuts", "on");

/** The newest receipt this browser was given, `<origin> <length> <head>`: the log is verified against it. */
export const lastReceipt = browserValue("receipt");

/** Puts the chosen theme on the page, now and whenever it changes. */
export function keepTheme(root: HTMLElement): void {
  const applyTheme = () => {
    if (theme.get() === "") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", theme.get());
  };
  applyTheme();
  theme.subscribe(applyTheme);
}
