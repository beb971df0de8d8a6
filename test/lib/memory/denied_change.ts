/** A service with a denied change, for tests of memory. */
import { chatService, type ChatService } from "../chat/chat_service.ts";

/** Opens a service, proposes a change and denies it. */
export async function openWithDenial(): Promise<ChatService & { change_id: string }> {
  const service = await chatService();
  const { change_id } = await service.propose({
    target: "data.retention",
    tenant_id: "northwind",
    summary: "Delete visits after 30 days",
    proposer: "pat",
    rationale: "storage is costly",
  });
  await service.post("deny", { change_id, approver: "bo@acme.example", note: "Legal objects" });
  return { ...service, change_id };
}

/** The text of the memory of that denial. */
export const DENIAL =
  "“Delete visits after 30 days” (data.retention for tenant northwind): denied by bo@acme.example: “Legal objects”";
