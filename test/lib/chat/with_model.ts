/** Opens a chat service whose model follows a script. */
import { openAiLlm } from "../../../lib/llm/openai.ts";
import type { TestOptions } from "../../support/deps.ts";
import { chatService, type ChatService } from "./chat_service.ts";
import { provider, type Received, type Said, type Script } from "./model_server.ts";

/** Opens the service; `received` lists the requests to the model. */
export async function withModel(
  script: Script,
  options: TestOptions = {},
): Promise<ChatService & { received: Received[] }> {
  const { url, received } = await provider(script);
  return { ...(await chatService({ ...options, llm: openAiLlm({ model: "m1", baseUrl: url }) })), received };
}

/** Returns a script that calls tools, and then replies with the result of the last call. */
export const using =
  (...tools: NonNullable<Said["tools"]>): Script =>
  ({ body }) => {
    const last = body.messages.at(-1);
    return last.role === "tool" ? { text: last.content } : { tools };
  };

/** Results of the tools in the newest request. */
export const listResults = (received: readonly Received[]): string[] =>
  received
    .at(-1)!
    .body.messages.filter(({ role }: { role: string }) => role === "tool")
    .map(({ content }: { content: string }) => content);

/** A valid draft. */
export const DRAFT = {
  tenant_id: "t1",
  kind: "feature_flag",
  target: "ui.banner",
  summary: "Show the banner",
  rationale: "asked for in chat",
};
