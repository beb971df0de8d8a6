/** Tests `countersign mcp`: it sends messages from standard input to the service, and prints the responses. */
import { PassThrough } from "node:stream";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { app } from "../../handlers/index.ts";
import { runMcp } from "../../local/command_line/mcp.ts";
import { openDeps } from "../support/deps.ts";
import { AGENT, type Era, makeMessage, SECRET, withAgents } from "../support/mcp.ts";

/** Starts a bridge to a service in this process. */
async function startBridge({ token, fetch }: { token?: string; fetch?: typeof globalThis.fetch } = {}) {
  const deps = await openDeps({ intent: withAgents() });
  const [input, output] = [new PassThrough(), new PassThrough()];
  const sent: Request[] = [];
  const callService = (async (address: string, init: RequestInit) => {
    const request = new Request(address, init);
    sent.push(request);
    return app(deps)(request);
  }) as typeof globalThis.fetch;
  const running = runMcp({ url: "http://127.0.0.1:8420/", token, input, output, fetch: fetch ?? callService }).then(
    () => output.end(),
  );
  const lines = createInterface({ input: output })[Symbol.asyncIterator]();
  /** Returns the next line of output; undefined after the last one. */
  const nextMessage = async () => {
    const { done, value } = await lines.next();
    return done ? undefined : JSON.parse(value);
  };
  const write = (message: unknown): void =>
    void input.write(`${typeof message === "string" ? message : JSON.stringify(message)}\n`);
  const sendRequest = (id: number, method: string, params: Record<string, unknown> = {}, era: Era = "modern") =>
    write({ jsonrpc: "2.0", id, method, params: makeMessage(era, method, params).params });
  return { write, sendRequest, nextMessage, sent, input, running, deps };
}

test("both protocol versions pass, with the agent's secret and the headers of the newer version", async () => {
  const { sendRequest, nextMessage, sent, input, running } = await startBridge({ token: SECRET });
  sendRequest(1, "server/discover");
  expect(await nextMessage()).toMatchObject({ id: 1, result: { instructions: expect.stringContaining(AGENT) } });
  sendRequest(2, "tools/call", { name: "product_state", arguments: {} });
  expect(await nextMessage()).toMatchObject({ id: 2, result: { resultType: "complete" } });
  sendRequest(3, "initialize", { protocolVersion: "2025-06-18" }, "legacy");
  expect(await nextMessage()).toMatchObject({ id: 3, result: { protocolVersion: "2025-06-18" } });
  // The second request is tools/call.
  expect(sent[1]!.headers.get("mcp-name")).toBe("product_state");
  input.end();
  await running;
});

test("a tool name that a header cannot have is sent encoded", async () => {
  const { sendRequest, nextMessage } = await startBridge({ token: SECRET });
  sendRequest(1, "tools/call", { name: "größe ", arguments: {} });
  // The service has decoded the name, with the space at its end.
  expect(await nextMessage()).toMatchObject({
    id: 1,
    error: { code: -32602, message: expect.stringContaining("Unknown tool: größe ;") },
  });
});

test("without a secret tools can read; with a wrong secret the service's error is returned", async () => {
  const reader = await startBridge();
  reader.sendRequest(1, "tools/call", { name: "list_changes", arguments: {} });
  expect(await reader.nextMessage()).toMatchObject({ result: { structuredContent: { total: 0 } } });
  const wrongSecret = await startBridge({ token: "x" });
  wrongSecret.sendRequest(1, "tools/list");
  expect(await wrongSecret.nextMessage()).toMatchObject({
    id: 1,
    error: { message: expect.stringContaining("token that is known") },
  });
});

test("a message that cannot be sent is answered with an error, and the next one is sent", async () => {
  let isDown = true;
  const { write, sendRequest, nextMessage } = await startBridge({
    fetch: async () => {
      if (isDown) throw new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
      return Response.json({ jsonrpc: "2.0", id: 2, result: {} });
    },
  });
  write("{");
  expect(await nextMessage()).toMatchObject({ id: null, error: { code: -32700 } });
  sendRequest(1, "tools/list");
  expect(await nextMessage()).toMatchObject({ id: 1, error: { message: expect.stringContaining("ECONNREFUSED") } });
  isDown = false;
  sendRequest(2, "tools/list");
  expect(await nextMessage()).toMatchObject({ id: 2, result: {} });
});

test("a cancelled request is aborted and not answered; notifications are not sent", async () => {
  const { write, sendRequest, nextMessage, sent, input, running } = await startBridge({ token: SECRET });
  sendRequest(1, "tools/call", {
    name: "propose_change",
    arguments: { tenant_id: "t", kind: "config", target: "a", summary: "b" },
  });
  const { change_id } = (await nextMessage()).result.structuredContent;
  sendRequest(2, "tools/call", { name: "wait_for_decision", arguments: { change_id } });
  write({ jsonrpc: "2.0", method: "notifications/initialized" });
  write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } });
  sendRequest(3, "ping", {}, "legacy");
  expect(await nextMessage()).toMatchObject({ id: 3 });
  sendRequest(4, "ping", {}, "legacy");
  input.end();
  await running;
  // The cancelled request has ended without a response.
  expect(await nextMessage()).toMatchObject({ id: 4 });
  expect(await nextMessage()).toBeUndefined();
  // Requests 1 to 4, and no notification.
  expect(sent).toHaveLength(4);
});
