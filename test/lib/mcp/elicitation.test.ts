/** The request to open the page of a change is sent once in 15 minutes for each change, to clients that can open pages. */
import { expect, test } from "vitest";
import { app } from "../../../handlers/index.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { checkedFetch } from "../../support/checked_fetch.ts";
import { client, PROPOSAL } from "../../support/client.ts";
import { MINUTE } from "../../support/clock.ts";
import { openDeps } from "../../support/deps.ts";
import { asAgent, mcpClient, makeMessage, SECRET, withAgents } from "../../support/mcp.ts";

const URL_MODE = { elicitation: { url: {} } };

/** Starts a service on a store, with a client that can open pages. */
async function startService(store = memoryStore(), headers: Record<string, string> = asAgent) {
  const deps = await openDeps({ intent: withAgents(), publicUrl: "https://gov.acme.example", store });
  const fetch = checkedFetch(app(deps), [SECRET]);
  const mcp = mcpClient(fetch, headers);
  /** Calls `wait_for_decision`; `members` are further members of the request. */
  const wait = async (change_id: string, members: object = {}, clientCapabilities: object = URL_MODE) => {
    const { params, headers } = makeMessage("modern", "tools/call", { name: "wait_for_decision" });
    const meta = { ...(params["_meta"] as object), "io.modelcontextprotocol/clientCapabilities": clientCapabilities };
    const args = { change_id, timeout_seconds: 1 };
    const message = { name: "wait_for_decision", arguments: args, _meta: meta, ...members };
    const sent = mcp.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: message }, headers as never);
    return (await sent).body.result;
  };
  const propose = async (): Promise<string> => (await mcp.tool("propose_change", PROPOSAL)).change_id;
  /** Approves the change during a call of `wait`, unless the call has returned already, and returns the result of the call. */
  const approveDuring = async (change_id: string, waiting: Promise<object>): Promise<object> => {
    const early = await Promise.race([waiting, new Promise((resolve) => setImmediate(resolve, undefined))]);
    if (early) return early as object;
    await client(fetch).post("approve", { change_id, approver: "ana" });
    return waiting;
  };
  return { deps, store, wait, propose, approveDuring };
}

test("a client gets one request in 15 minutes to open a change's page; then the tool waits", async () => {
  const { wait, propose, approveDuring, deps } = await startService();
  const change_id = await propose();
  const pageRequest = await wait(change_id);
  expect(pageRequest).toMatchObject({
    resultType: "input_required",
    inputRequests: {
      open_page: {
        method: "elicitation/create",
        params: { mode: "url", url: `https://gov.acme.example/#/changes/${change_id}`, message: expect.any(String) },
      },
    },
    requestState: expect.stringMatching(/^\d+\.[0-9a-f]{64}$/),
  });
  const { requestState } = pageRequest;
  const inputResponses = { open_page: { action: "accept" } };
  // Both the response to the request and a call without the state wait, since this process has sent the request.
  const answers = Promise.all([wait(change_id, { requestState, inputResponses }), wait(change_id)]);
  expect(await approveDuring(change_id, answers)).toMatchObject([
    { structuredContent: { moved: true, status: "approved" } },
    { structuredContent: { moved: true, status: "approved" } },
  ]);
  // For a decided change the page is not requested.
  expect(await wait(change_id)).toMatchObject({ structuredContent: { status: "approved" } });
  const undecided = await propose();
  expect(await wait(undecided)).toMatchObject({ resultType: "input_required" });
  deps.clock.advance(15 * MINUTE);
  expect(await wait(undecided)).toMatchObject({ resultType: "input_required" });
});

test("another process rejects a state that is forged, late, or of another change or caller", async () => {
  const first = await startService();
  const change_id = await first.propose();
  const other = await first.propose();
  const { requestState } = await first.wait(change_id);
  /** Returns whether another process, after a delay, requests the page again. */
  const isRequestedAgain = async (members: object, headers = asAgent, delayMs = 0) => {
    const { wait, deps } = await startService(first.store, headers);
    deps.clock.advance(delayMs);
    return (await wait(change_id, members)).resultType === "input_required";
  };
  expect(await isRequestedAgain({ requestState })).toBe(false);
  const [end, mac] = requestState.split(".");
  for (const forged of [`${Number(end) + 1}.${mac}`, `${end}.${"0".repeat(64)}`, `9${end}.${mac}`, "", 7, null])
    expect(await isRequestedAgain({ requestState: forged }), String(forged)).toBe(true);
  expect(await isRequestedAgain({ requestState: (await first.wait(other)).requestState })).toBe(true);
  expect(await isRequestedAgain({ requestState }, undefined, 15 * MINUTE)).toBe(true);
  expect(await isRequestedAgain({ requestState }, { authorization: "Bearer another agent's secret" })).toBe(true);
});

test.each<[string, object]>([
  ["no capability", {}],
  ["forms only", { elicitation: { form: {} } }],
  ["elicitation of no kind", { elicitation: {} }],
])("a client with %s gets no request to open a page", async (_, capabilities) => {
  const { wait, propose, approveDuring } = await startService();
  const change_id = await propose();
  const answer = await approveDuring(change_id, wait(change_id, {}, capabilities));
  expect(answer).toMatchObject({ resultType: "complete", structuredContent: { moved: true } });
});
