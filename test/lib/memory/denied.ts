import { chatService, type ChatService } from "../chat/fixture.ts";

/** A change that somebody denied. */
export async function denied(): Promise<ChatService & { change_id: string }> {
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

/** How that is remembered. */
export const DENIAL =
  "“Delete visits after 30 days” (data.retention for tenant northwind): denied by bo@acme.example: “Legal objects”";
