/** The request to open a change's page: once for a change, and only where the client can. */
import { expect, test } from "vitest";
import { app } from "../../../handlers/index.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { checkedFetch } from "../../support/checked_fetch.ts";
import { client, PROPOSAL } from "../../support/client.ts";
import { MINUTE } from "../../support/clock.ts";
import { openDeps } from "../../support/deps.ts";
import { asAgent, mcpClient, makeMessage, SECRET, withAgents } from "../../support/mcp.ts";

const URL_MODE = { elicitation: { url: {} } };

/** A service on a store, and a client that can open pages. */
async function served(store = memoryStore(), headers: Record<string, string> = asAgent) {
  const deps = await openDeps({ intent: withAgents(), publicUrl: "https://gov.acme.example", store });
  const fetch = checkedFetch(app(deps), [SECRET]);
  const mcp = mcpClient(fetch, headers);
  /** Waits for a decision on a change; `more` are further members of the request. */
  const wait = async (change_id: string, more: object = {}, clientCapabilities: object = URL_MODE) => {
    const { params, headers } = makeMessage("modern", "tools/call", { name: "wait_for_decision" });
    const meta = { ...(params["_meta"] as object), "io.modelcontextprotocol/clientCapabilities": clientCapabilities };
    const args = { change_id, timeout_seconds: 1 };
    const message = { name: "wait_for_decision", arguments: args, _meta: meta, ...more };
    const sent = mcp.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: message }, headers as never);
    return (await sent).body.result;
  };
  const propose = async (): Promise<string> => (await mcp.tool("propose_change", PROPOSAL)).change_id;
  /** Resolves with what a wait answers, which a decision ends. */
  const decided = async (change_id: string, answer: Promise<object>): Promise<object> => {
    const first = await Promise.race([answer, new Promise((resolve) => setImmediate(resolve, undefined))]);
    if (first) return first as object;
    await client(fetch).post("approve", { change_id, approver: "ana" });
    return answer;
  };
  return { deps, store, wait, propose, decided };
}

test("a client that can open pages is asked once for each change, and then the tool waits", async () => {
  const { wait, propose, decided, deps } = await served();
  const change_id = await propose();
  const asked = await wait(change_id);
  expect(asked).toMatchObject({
    resultType: "input_required",
    inputRequests: {
      open_page: {
        method: "elicitation/create",
        params: { mode: "url", url: `https://gov.acme.example/#/changes/${change_id}`, message: expect.any(String) },
      },
    },
    requestState: expect.stringMatching(/^\d+\.[0-9a-f]{64}$/),
  });
  const { requestState } = asked;
  const inputResponses = { open_page: { action: "accept" } };
  // The answer to the request waits, and so does a call without the state: this process knows that it asked.
  const answers = Promise.all([wait(change_id, { requestState, inputResponses }), wait(change_id)]);
  expect(await decided(change_id, answers)).toMatchObject([
    { structuredContent: { moved: true, status: "approved" } },
    { structuredContent: { moved: true, status: "approved" } },
  ]);
  // There is nothing to decide any more.
  expect(await wait(change_id)).toMatchObject({ structuredContent: { status: "approved" } });
  deps.clock.advance(15 * MINUTE);
  expect(await wait(await propose())).toMatchObject({ resultType: "input_required" });
});

test("another process accepts the state unless forged, late or for another change or caller", async () => {
  const first = await served();
  const change_id = await first.propose();
  const other = await first.propose();
  const { requestState } = await first.wait(change_id);
  const process = () => served(first.store);
  const isAsked = async (more: object, headers?: Record<string, string>, late = 0) => {
    const { wait, deps } = headers ? await served(first.store, headers) : await process();
    deps.clock.advance(late);
    return (await wait(change_id, more)).resultType === "input_required";
  };
  expect(await isAsked({ requestState })).toBe(false);
  const [end, mac] = requestState.split(".");
  for (const forged of [`${Number(end) + 1}.${mac}`, `${end}.${"0".repeat(64)}`, `9${end}.${mac}`, "", 7, null])
    expect(await isAsked({ requestState: forged }), String(forged)).toBe(true);
  expect(await isAsked({ requestState: (await first.wait(other)).requestState })).toBe(true);
  expect(await isAsked({ requestState }, undefined, 15 * MINUTE)).toBe(true);
  expect(await isAsked({ requestState }, { authorization: "Bearer another agent's secret" })).toBe(true);
});

test.each<[string, object]>([
  ["no capability", {}],
  ["forms only", { elicitation: { form: {} } }],
  ["elicitation of no kind", { elicitation: {} }],
])("a client with %s is not asked", async (_, capabilities) => {
  const { wait, propose, decided } = await served();
  const change_id = await propose();
  const answer = await decided(change_id, wait(change_id, {}, capabilities));
  expect(answer).toMatchObject({ resultType: "complete", structuredContent: { moved: true } });
});
