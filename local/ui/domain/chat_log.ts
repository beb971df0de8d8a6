/** The conversation as the service tells it: an HTML fragment, of which only text is taken over. */
import { getText } from "../core/api.ts";

/** One message. */
export interface Said {
  id: string;
  role: string;
  author: string;
  at: string;
  text: string;
  mode: string;
  citations: { kind: string; id: string }[];
}

/** Reads the newest messages of somebody's own conversation, or of the common one where nobody is named, oldest first. */
export async function readChat(name: string, signal: AbortSignal): Promise<Said[]> {
  return parseChat(await getText("api/chat/history", { limit: 100, author: name || undefined }, signal));
}

/** The messages of a fragment. It is parsed apart from the page, and nothing of it but text and ids is kept. */
export function parseChat(fragment: string): Said[] {
  const parsed = new DOMParser().parseFromString(fragment, "text/html");
  return [...parsed.querySelectorAll("ol > li")].map((item) => ({
    id: item.id,
    role: item.getAttribute("data-role") ?? "",
    author: item.querySelector("header span")?.textContent ?? "",
    at: item.querySelector("time")?.getAttribute("datetime") ?? "",
    text: item.querySelector("p")?.textContent ?? "",
    mode: item.getAttribute("data-mode") ?? "",
    citations: [...item.querySelectorAll("cite")].map((cite) => ({
      kind: cite.getAttribute("data-kind") ?? "",
      id: cite.textContent ?? "",
    })),
  }));
}
