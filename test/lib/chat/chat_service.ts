/** Opens a service with a client for chat and memory search. */
import type * as z from "zod";
import type { chatAnswer } from "../../../lib/chat/reply.ts";
import type { Memory } from "../../../lib/projections/memory.ts";
import type { Store } from "../../../lib/store/store.ts";
import type { Reply } from "../../support/client.ts";
import type { TestOptions } from "../../support/deps.ts";
import type { Fields } from "../../support/requests.ts";
import { service, type TestService } from "../../support/service.ts";

type Draft = z.infer<typeof chatAnswer>["drafts"][number];

export type ChatService = TestService & {
  say(message: string, fields?: Fields, headers?: HeadersInit): Promise<Reply>;
  /** Sends a message, confirms every draft of the reply, and returns the confirmed drafts. */
  sayAndConfirm(message: string, fields?: Fields, headers?: HeadersInit): Promise<Draft[]>;
  /** Searches memory, with `author` also that person's conversations. */
  search(q: string, limit?: number, author?: string): Promise<Reply>;
};

/** Opens a service in memory. */
export async function chatService(options: TestOptions = {}): Promise<ChatService> {
  const api = await service(options);
  const say: ChatService["say"] = (message, fields = {}, headers = {}) =>
    api.post("/api/chat", { message, ...fields }, headers);
  return {
    ...api,
    say,
    async sayAndConfirm(message, fields, headers = {}) {
      const { drafts } = (await say(message, fields, headers)).body;
      const confirmed: Draft[] = [];
      for (const { draft_id } of drafts) {
        const reply = await api.post("/api/chat", { ...fields, confirm_draft: draft_id }, headers);
        confirmed.push(...reply.body.drafts);
      }
      return confirmed;
    },
    search: (q, limit = 10, author) =>
      api.get(`/api/memory/search?${new URLSearchParams({ q, limit: `${limit}`, ...(author && { author }) })}`),
  };
}

/** Returns the stored memories, oldest first. Memories of log entries are not stored. */
export async function readMemories(store: Store): Promise<Memory[]> {
  const sources = await Promise.all(
    (["memories", "chat_memories"] as const).map((source) => store.list(source, { limit: 100_000 })),
  );
  // The ids of both collections count one sequence.
  const records = sources.flat().sort((a, b) => (a.id < b.id ? -1 : 1));
  return records.map(({ value }) => value);
}
