/** A service to talk to. */
import type * as z from "zod";
import type { chatAnswer } from "../../../lib/chat/reply.ts";
import type { Memory } from "../../../lib/projections/memory.ts";
import type { Store } from "../../../lib/store/store.ts";
import type { Reply } from "../../support/client.ts";
import type { TestOptions } from "../../support/deps.ts";
import type { Fields } from "../../support/requests.ts";
import { service, type TestService } from "../../support/service.ts";

type Draft = z.infer<typeof chatAnswer>["drafts"][number];

/** A client that chats and searches. */
export type ChatService = TestService & {
  say(message: string, fields?: Fields, headers?: HeadersInit): Promise<Reply>;
  /** Chats, and confirms every draft of the reply; what came of each. */
  sayAndConfirm(message: string, fields?: Fields, headers?: HeadersInit): Promise<Draft[]>;
  /** Searches memory; `author`: whose own conversation too. */
  search(q: string, limit?: number, author?: string): Promise<Reply>;
};

/** Opens one. */
export async function chatService(options: TestOptions = {}): Promise<ChatService> {
  const opened = await service(options);
  const say: ChatService["say"] = (message, fields = {}, headers = {}) =>
    opened.post("/api/chat", { message, ...fields }, headers);
  return {
    ...opened,
    say,
    async sayAndConfirm(message, fields, headers = {}) {
      const { drafts } = (await say(message, fields, headers)).body;
      const confirmed: Draft[] = [];
      for (const { draft_id } of drafts)
        confirmed.push(
          ...(await opened.post("/api/chat", { ...fields, confirm_draft: draft_id }, headers)).body.drafts,
        );
      return confirmed;
    },
    search: (q, limit = 10, author) =>
      opened.get(`/api/memory/search?${new URLSearchParams({ q, limit: `${limit}`, ...(author && { author }) })}`),
  };
}

/** All memories of what has no entry, oldest first. */
export async function readMemories(store: Store): Promise<Memory[]> {
  const sources = await Promise.all(
    (["memories", "chat_memories"] as const).map((source) => store.list(source, { limit: 100_000 })),
  );
  const all = sources.flat().sort((a, b) => (a.id < b.id ? -1 : 1));
  return all.map(({ value }) => value);
}
