/** Who sits at this window: the token for as long as the tab lives, name and look for as long as the browser does. */
import { type Value, value } from "./value.ts";

/** Storage may be switched off; the console then forgets instead of failing. */
function kept(storage: () => Storage, key: string, initial: string): Value<string> {
  const read = (): string => {
    try {
      return storage().getItem(key) ?? initial;
    } catch {
      return initial;
    }
  };
  const held = value(read());
  held.subscribe(() => {
    try {
      if (held.get() === initial) storage().removeItem(key);
      else storage().setItem(key, held.get());
    } catch {
      // kept in memory only
    }
  });
  return held;
}

const ofTab = (key: string): Value<string> => kept(() => sessionStorage, `countersign.${key}`, "");
const ofBrowser = (key: string, initial = ""): Value<string> => kept(() => localStorage, `countersign.${key}`, initial);

/** The name under which decisions are made; empty until it is given. */
export const personName = ofBrowser("name");

/** The admin token, sent as `X-Svc-Admin-Token`; empty until it is given. */
export const adminToken = ofTab("token");

/** A token that opens reads, and no write that needs one, sent as `X-Svc-Read-Token`; empty until it is given. */
export const readToken = ofTab("read_token");

/** A proposal that is being written, as JSON: the address it was begun with, and the draft. */
export const keptDraft = ofTab("draft");

/** `light`, `dark`, or empty: as the system has it. */
export const theme = ofBrowser("theme");

/** `on` or `off`: whether single keys do anything. */
export const shortcuts = ofBrowser("shortcuts", "on");

/** The newest receipt this browser was given, `<origin> <length> <head>`: the log is verified against it. */
export const lastReceipt = ofBrowser("receipt");

/** Puts the chosen theme on the page, now and whenever it changes. */
export function followTheme(root: HTMLElement): void {
  const follow = () => {
    if (theme.get() === "") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", theme.get());
  };
  follow();
  theme.subscribe(follow);
}
