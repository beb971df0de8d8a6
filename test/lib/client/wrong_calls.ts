/** Calls of the client that compile and calls that must not: `npm run check` type-checks this file, and nothing runs it. */
import { createClient, CountersignError, type Schema } from "../../../lib/client/client.ts";

const client = createClient({ baseUrl: "https://gov.acme.example", headers: { "X-Svc-Admin-Token": "…" } });
const proposal = { tenant_id: "t1", kind: "config", target: "ui.banner", summary: "Show it" } as const;
const params = { path: { change_id: "chg_1" } };

export async function validCalls(): Promise<Schema<"Change">> {
  await client.get("/api/state");
  await client.get("/api/product/runtime", { params: { query: { status: "applied", limit: 3, before: undefined } } });
  await client.download("/api/product/changes/{change_id}/certificate", { params });
  await client.download("/api/product/audit", { params: { query: { format: "csv" } } });
  await client.post("/api/product/propose", { body: { ...proposal, value: [1, { deep: null }], proposer: undefined } });
  return client.get("/api/product/changes/{change_id}", { params, signal: AbortSignal.timeout(1000) });
}

export async function invalidCalls(): Promise<void> {
  // @ts-expect-error there is no such path
  await client.get("/api/product/change");
  // @ts-expect-error the endpoint is a POST
  await client.get("/api/product/approve");
  // @ts-expect-error the endpoint is a GET
  await client.post("/api/product/runtime");
  // @ts-expect-error the response is no JSON
  await client.get("/api/product/changes/{change_id}/certificate", { params });
  // @ts-expect-error the path needs its parameter
  await client.get("/api/product/changes/{change_id}");
  // @ts-expect-error there is no such parameter
  await client.get("/api/product/runtime", { params: { query: { state: "applied" } } });
  // @ts-expect-error there is no such status
  await client.get("/api/product/runtime", { params: { query: { status: "done" } } });
  // @ts-expect-error a body is needed
  await client.post("/api/product/propose");
  // @ts-expect-error a field is missing
  await client.post("/api/product/propose", { body: { tenant_id: "t1", kind: "config", target: "ui.banner" } });
  // @ts-expect-error a field is misspelt
  await client.post("/api/product/propose", { body: { ...proposal, affected_user: 3 } });
  // @ts-expect-error a field is of another type
  await client.post("/api/product/propose", { body: { ...proposal, affected_users: "3" } });
  // @ts-expect-error there is no such kind
  await client.post("/api/product/propose", { body: { ...proposal, kind: "setting" } });
  // @ts-expect-error an option is misspelt
  await client.get("/api/state", { abort: AbortSignal.timeout(1000) });
  // @ts-expect-error the answer has no such field
  void (await client.post("/api/product/propose", { body: proposal })).id;
  // @ts-expect-error the field may be null
  (await validCalls()).affected_users.toFixed();
  // @ts-expect-error there is no such code
  if (new CountersignError("unreachable", "").code === "unauthorised") return;
  // @ts-expect-error the address is needed
  createClient({ headers: {} });
}
