/** Routes in the fragment of the address, so that any static host can serve the console. */
import { useValue } from "./hooks.tsx";
import { createValue } from "./value.ts";

export interface Route {
  path: readonly string[];
  query: URLSearchParams;
}

const read = (): Route => {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { path: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
};

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

const route = createValue(read());
addEventListener("hashchange", () => route.set(read()));

/** Returns the route of the current address, and draws the component again when it changes. */
export const useRoute = (): Route => useValue(route);

/** Returns the address of a page; empty values are left out of the query. */
export function href(path: readonly string[], query: Record<string, string | undefined> = {}): string {
  const present = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]));
  const search = present.length > 0 ? `?${new URLSearchParams(present)}` : "";
  return `#/${path.map(encodeURIComponent).join("/")}${search}`;
}

export const changeHref = (changeId: string): string => href(["changes", changeId]);

export const navigate = (address: string): void => void (location.hash = address);

/** Replaces the query in the address without a new step in the history. */
export function replaceQuery(path: readonly string[], query: Record<string, string | undefined>): void {
  history.replaceState(history.state, "", href(path, query));
  route.set(read());
}
