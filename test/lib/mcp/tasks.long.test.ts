/** The Tasks extension: a wait for a decision is a task for clients that support tasks. */
import { expect, test } from "vitest";
import { app } from "../../../handlers/index.ts";
import { checkedFetch } from "../../support/checked_fetch.ts";
import { client } from "../../support/client.ts";
import { openDeps } from "../../support/deps.ts";
import { asAgent, mcpClient, makeMessage, withAgents } from "../../support/mcp.ts";

const PROPOSAL = { tenant_id: "t1", kind: "config", target: "ui.banner", summary: "Show the banner" };
const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** Error codes of JSON-RPC and of MCP. */
const INVALID_PARAMS = -32602;
const MISSING_CAPABILITY = -32021;

async function startMcp() {
  const fetch = checkedFetch(app(await openDeps({ intent: withAgents() })));
  const mcp = mcpClient(fetch, asAgent);
  /** Sends a request of a client that supports tasks. */
  const sendRequest = async (method: string, params: Record<string, unknown>, capabilities: object = TASKS) => {
    const { params: modernParams, headers } = makeMessage("modern", method, params);
    const meta = { ...(modernParams["_meta"] as object), "io.modelcontextprotocol/clientCapabilities": capabilities };
    const name = params["name"] ?? params["taskId"];
    const body = { jsonrpc: "2.0", id: 1, method, params: { ...modernParams, ["_meta"]: meta } };
    return (await mcp.send(body, { ...headers, "mcp-name": typeof name === "string" ? name : "none" })).body;
  };
  const wait = (change_id: string, capabilities?: object) =>
    sendRequest(
      "tools/call",
      { name: "wait_for_decision", arguments: { change_id, timeout_seconds: 1 } },
      capabilities,
    );
  return { api: client(fetch), mcp, sendRequest, wait };
}

test("a wait is a task that ends when people have decided", async () => {
  const { api, mcp, sendRequest, wait } = await startMcp();
  expect((await mcp.request("server/discover")).body.result.capabilities).toMatchObject(TASKS);
  const { change_id } = await mcp.tool("propose_change", PROPOSAL);
  const { result: task } = await wait(change_id);
  expect(task).toMatchObject({
    resultType: "task",
    status: "working",
    statusMessage: expect.stringContaining("1 more consent of ana, bo"),
    ttlMs: null,
    pollIntervalMs: expect.any(Number),
  });
  const { taskId } = task;
  expect((await sendRequest("tasks/get", { taskId })).result).toMatchObject({
    resultType: "complete",
    taskId,
    status: "working",
  });
  await api.post("approve", { change_id, approver: "ana" });
  const completedTask = (await sendRequest("tasks/get", { taskId })).result;
  expect(completedTask).toMatchObject({
    resultType: "complete",
    status: "completed",
    result: { structuredContent: { change_id, status: "approved", moved: true } },
  });
  // A decided change needs no task.
  expect((await wait(change_id)).result).toMatchObject({ resultType: "complete", structuredContent: { moved: true } });
});

test("a client that does not declare support for tasks gets none", async () => {
  const { mcp, sendRequest, wait } = await startMcp();
  const { change_id } = await mcp.tool("propose_change", PROPOSAL);
  for (const capabilities of [{}, { extensions: {} }, { extensions: [] }])
    expect((await wait(change_id, capabilities)).result).toMatchObject({
      resultType: "complete",
      structuredContent: { moved: false },
    });
  expect((await sendRequest("tasks/get", { taskId: `pending_consent/${change_id}` }, {})).error).toMatchObject({
    code: MISSING_CAPABILITY,
    data: { requiredCapabilities: TASKS },
  });
});

test("cancelling or updating a task decides nothing, and an unknown task is an error", async () => {
  const { api, mcp, sendRequest, wait } = await startMcp();
  const { change_id } = await mcp.tool("propose_change", PROPOSAL);
  const { taskId } = (await wait(change_id)).result;
  for (const method of ["tasks/cancel", "tasks/update"])
    expect((await sendRequest(method, { taskId, inputResponses: {} })).result).toMatchObject({
      resultType: "complete",
    });
  expect((await api.change(change_id)).status).toBe("pending_consent");
  // A task's id is `<status>/<change id>`, with a status that is not final.
  for (const unknownId of [
    "x",
    "pending_consent/nope",
    `nope/${change_id}`,
    `denied/${change_id}`,
    "/",
    "",
    [taskId],
    { toString: 1, valueOf: 1 },
  ])
    expect((await sendRequest("tasks/get", { taskId: unknownId })).error?.code, JSON.stringify(unknownId)).toBe(
      INVALID_PARAMS,
    );
});

test("a wait for an unknown change returns the error of the tool", async () => {
  const { wait } = await startMcp();
  expect((await wait("nope")).result).toMatchObject({ isError: true });
});
