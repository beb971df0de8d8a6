/** What was asked before in the same words: remembered too, but no answer to anything. */
import type { Store } from "../store/store.ts";
import type { Recalled } from "../memory/memories.ts";
import { queryTerms, textTerms } from "../memory/tokens.ts";
import { QUESTION_TERMS } from "./topics.ts";

/** The memories without the messages that say nothing beyond the one at hand. */
export async function withoutEchoes(
  store: Pick<Store, "get">,
  message: string,
  found: readonly Recalled[],
): Promise<Recalled[]> {
  const said = await Promise.all(found.map((memory) => saidIn(store, memory)));
  const known = new Set(textTerms(message));
  const isNews = (text: string): boolean =>
    queryTerms(text).some((term) => !known.has(term) && !QUESTION_TERMS.has(term));
  return found.filter((_, index) => said[index] === undefined || isNews(said[index]));
}

/** The words of a remembered message, without its author; undefined for every other memory. */
async function saidIn(store: Pick<Store, "get">, { kind, ref, text }: Recalled): Promise<string | undefined> {
  if (kind !== "chat") return undefined;
  const turn = ref === null ? undefined : await store.get("chat", ref.slice("msg_".length));
  return turn?.value.text ?? text;
}
