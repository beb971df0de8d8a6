/** The MCP protocol in both version ranges: results, errors, and the tools that each caller gets. */
import { describe, expect, test } from "vitest";
import { app } from "../../../handlers/index.ts";
import { client } from "../../support/client.ts";
import { checkedFetch } from "../../support/checked_fetch.ts";
import { openDeps, type TestOptions } from "../../support/deps.ts";
import { asAgent, mcpClient, makeMessage, SECRET, withAgents } from "../../support/mcp.ts";

const ADMIN = "correct horse battery staple";
const READS = [
  "explain_policy",
  "find",
  "list_changes",
  "get_change",
  "wait_for_decision",
  "search_memory",
  "product_state",
];
const WRITES = ["propose_change", "withdraw_change"];

async function startMcp(options: TestOptions = {}, headers: Record<string, string> = asAgent) {
  const deps = await openDeps({ intent: withAgents(), adminToken: ADMIN, ...options });
  const fetch = checkedFetch(app(deps), [ADMIN, SECRET]);
  return { ...mcpClient(fetch, headers), api: client(fetch) };
}
type Mcp = Awaited<ReturnType<typeof startMcp>>;

/** Lists the tools in a `modern` version, which has no handshake, or in a `legacy` one. */
const listToolNames = async (mcp: Mcp, era: "modern" | "legacy" = "modern"): Promise<string[]> =>
  (await mcp.request("tools/list", {}, era)).body.result.tools.map(({ name }: { name: string }) => name);

test.each(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])(
  "a client of version %s gets a handshake in that version",
  async (version) => {
    const mcp = await startMcp();
    const { status, body } = await mcp.request("initialize", { protocolVersion: version, capabilities: {} }, "legacy");
    expect([status, body.result]).toMatchObject([
      200,
      { protocolVersion: version, capabilities: { tools: {} }, serverInfo: { name: "countersign" } },
    ]);
    expect(body.result).not.toHaveProperty("resultType");
  },
);

test("a handshake for an unknown version is answered with the newest version with handshakes", async () => {
  const mcp = await startMcp();
  for (const protocolVersion of ["2026-07-28", "1999-01-01", 7])
    expect((await mcp.request("initialize", { protocolVersion }, "legacy")).body.result.protocolVersion).toBe(
      "2025-11-25",
    );
});

test("a newer client discovers the capabilities, and results are marked as complete and private", async () => {
  const mcp = await startMcp();
  const { body } = await mcp.request("server/discover");
  expect(body.result).toMatchObject({
    resultType: "complete",
    supportedVersions: ["2026-07-28"],
    capabilities: { tools: {} },
    ttlMs: expect.any(Number),
    cacheScope: "private",
    _meta: { "io.modelcontextprotocol/serverInfo": { name: "countersign" } },
  });
  expect((await mcp.request("tools/list")).body.result).toMatchObject({
    resultType: "complete",
    cacheScope: "private",
  });
});

test("older versions have a ping; notifications get an empty response", async () => {
  const mcp = await startMcp();
  expect((await mcp.request("ping", {}, "legacy")).body).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
  const { status, body } = await mcp.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  expect([status, body]).toEqual([202, null]);
});

describe("a request is rejected with an error of the protocol:", () => {
  const valid = makeMessage("modern", "tools/list");
  const listRequest = { jsonrpc: "2.0", id: 7, method: "tools/list", params: valid.params };
  const meta = valid.params["_meta"] as Record<string, unknown>;
  const withoutMeta = (key: string) => ({
    ...listRequest,
    params: { _meta: Object.fromEntries(Object.entries(meta).filter(([name]) => !name.endsWith(key))) },
  });
  const unknownVersion = { ...meta, "io.modelcontextprotocol/protocolVersion": "2099-01-01" };

  // MCP adds to the codes of JSON-RPC -32020 for a header that does not match, and -32022 for an unsupported version.
  test.each<[fault: string, body: unknown, headers: Record<string, string>, status: number, code: number, id: unknown]>(
    [
      ["no JSON", "{", {}, 400, -32700, null],
      ["a repeated member", '{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}', {}, 400, -32700, null],
      ["a batch", [{ jsonrpc: "2.0", id: 7, method: "ping" }], {}, 400, -32600, null],
      ["an empty batch", [], {}, 400, -32600, null],
      ["a number", 7, {}, 400, -32600, null],
      ["another version of JSON-RPC", { jsonrpc: "1.0", id: 7, method: "ping" }, {}, 400, -32600, 7],
      ["no method", { jsonrpc: "2.0", id: 7 }, {}, 400, -32600, 7],
      ["a response", { jsonrpc: "2.0", id: 7, result: {} }, {}, 400, -32600, 7],
      ["an id that is null", { jsonrpc: "2.0", id: null, method: "ping" }, {}, 400, -32600, null],
      ["an id that is a fraction", { jsonrpc: "2.0", id: 1.5, method: "ping" }, {}, 400, -32600, null],
      ["a list of params", { jsonrpc: "2.0", id: 7, method: "ping", params: [1] }, {}, 400, -32600, 7],
      ["an unknown method", { jsonrpc: "2.0", id: 7, method: "resources/list" }, {}, 200, -32601, 7],
      [
        "an unknown version",
        { jsonrpc: "2.0", id: 7, method: "ping" },
        { "mcp-protocol-version": "1999" },
        400,
        -32022,
        7,
      ],
      ["a newer request without _meta", { ...listRequest, params: {} }, valid.headers, 400, -32602, 7],
      ["a newer request without its version", withoutMeta("protocolVersion"), valid.headers, 400, -32602, 7],
      ["a newer request without capabilities", withoutMeta("clientCapabilities"), valid.headers, 400, -32602, 7],
      ["a newer request without the header", listRequest, {}, 400, -32020, 7],
      [
        "another version in the header",
        listRequest,
        { ...valid.headers, "mcp-protocol-version": "2025-11-25" },
        400,
        -32020,
        7,
      ],
      ["another method in the header", listRequest, { ...valid.headers, "mcp-method": "tools/call" }, 400, -32020, 7],
      ["the method in another case", listRequest, { ...valid.headers, "mcp-method": "Tools/List" }, 400, -32020, 7],
      ["no method in the header", listRequest, { "mcp-protocol-version": "2026-07-28" }, 400, -32020, 7],
      [
        "a future version",
        { ...listRequest, params: { _meta: unknownVersion } },
        { ...valid.headers, "mcp-protocol-version": "2099-01-01" },
        400,
        -32022,
        7,
      ],
    ],
  )("%s", async (_, body, headers, status, code, id) => {
    const reply = await (await startMcp()).send(body, headers);
    expect([reply.status, reply.body]).toEqual([
      status,
      { jsonrpc: "2.0", id, error: expect.objectContaining({ code, message: expect.stringMatching(/\S/) }) },
    ]);
  });

  test.each(["initialize", "ping", "logging/setLevel", "subscriptions/listen", "tasks/list", "constructor"])(
    "%s does not exist in newer versions",
    async (method) => {
      const { status, body } = await (await startMcp()).request(method);
      expect([status, body.error.code]).toEqual([404, -32601]);
    },
  );

  test("the name in the header must equal that in the body, encoded or not", async () => {
    const mcp = await startMcp();
    const { params, headers } = makeMessage("modern", "tools/call", { name: "product_state", arguments: {} });
    const callRequest = { jsonrpc: "2.0", id: 7, method: "tools/call", params };
    const sendWithName = async (name: string) => (await mcp.send(callRequest, { ...headers, "mcp-name": name })).body;
    expect(await sendWithName(`=?base64?${btoa("product_state")}?=`)).toHaveProperty("result");
    for (const name of ["get_change", `=?base64?${btoa("get_change")}?=`, "=?base64?%%?="])
      expect(await sendWithName(name)).toMatchObject({ error: { code: -32020 } });
  });
});

test("a name that is not text, or not the name of a tool, is rejected as an unknown tool", async () => {
  const mcp = await startMcp();
  const notText = { toString: 1, valueOf: 1 };
  for (const name of [undefined, null, 7, [], notText, ["product_state"], "constructor", "x".repeat(50_000)])
    for (const era of ["modern", "legacy"] as const) {
      const { params, headers } = makeMessage(era, "tools/call", { arguments: {} });
      const nameHeader = typeof name === "string" ? { "mcp-name": name } : {};
      const { status, body } = await mcp.send(
        { jsonrpc: "2.0", id: 7, method: "tools/call", params: { ...params, ...(name !== undefined && { name }) } },
        { ...headers, ...nameHeader },
      );
      expect([status, body.error.code]).toEqual([200, -32602]);
      expect(body.error.message).toMatch(/^Unknown tool: .{1,100}; tools\/list returns/);
    }
});

test("every method but POST is 405", async () => {
  const { api } = await startMcp();
  for (const method of ["GET", "DELETE", "PUT", "HEAD"]) {
    const reply = await api.send(new Request(`${api.origin}/mcp`, { method, headers: asAgent }));
    expect([reply.status, reply.headers.get("allow")]).toEqual([405, "POST"]);
  }
});

describe("callers", () => {
  test("an agent gets all tools and its own name", async () => {
    const mcp = await startMcp();
    expect(await listToolNames(mcp)).toEqual([...READS, ...WRITES]);
    expect(await listToolNames(mcp, "legacy")).toEqual([...READS, ...WRITES]);
    expect((await mcp.request("server/discover")).body.result.instructions).toContain("You are agent:pricing");
  });

  test.each<[string, TestOptions, RegExp]>([
    ["if the intent has agents", {}, /no agent's secret/],
    ["if the intent has none", { intent: {} }, /names no agents/],
  ])("without a secret only read tools are listed, and the instructions say why, %s", async (_, options, reason) => {
    const mcp = await startMcp(options, {});
    expect(await listToolNames(mcp)).toEqual(READS);
    expect((await mcp.request("server/discover")).body.result.instructions).toMatch(reason);
    const proposal = { tenant_id: "t1", kind: "config", target: "ui.banner", summary: "Show" };
    expect(await mcp.tool("propose_change", proposal)).toMatchObject({ refused: { code: "agent_required" } });
    expect(await mcp.api.steps()).toEqual([]);
  });

  test("the tools have descriptions", async () => {
    const { body } = await (await startMcp()).request("tools/list");
    for (const { name, description, annotations, inputSchema, outputSchema } of body.result.tools) {
      expect(description.length).toBeGreaterThan(40);
      expect(annotations).toMatchObject({ readOnlyHint: READS.includes(name), destructiveHint: false });
      expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
      expect(outputSchema).toMatchObject({ type: "object" });
    }
  });

  test.each<[kind: string, headers: Record<string, string>, status: number, code: string]>([
    ["an unknown secret", { authorization: "Bearer x" }, 401, "unauthorized"],
    ["two secrets", { authorization: `Bearer ${SECRET}, Bearer ${SECRET}` }, 401, "unauthorized"],
    ["the admin token", { "x-svc-admin-token": ADMIN }, 403, "agent_required"],
    ["another admin token", { "x-svc-admin-token": "x" }, 403, "agent_required"],
    ["the admin token and a secret", { ...asAgent, "x-svc-admin-token": ADMIN }, 403, "agent_required"],
    ["the admin token as a secret", { authorization: `Bearer ${ADMIN}` }, 401, "unauthorized"],
    ["a page of another site", { ...asAgent, origin: "https://evil.example" }, 403, "cross_site"],
    ["a frame of another site", { ...asAgent, "sec-fetch-site": "cross-site" }, 403, "cross_site"],
    ["plain text", { ...asAgent, "content-type": "text/plain" }, 415, "unsupported_media_type"],
  ])("a request with %s is rejected", async (_, headers, status, code) => {
    const reply = await (await startMcp({}, headers)).request("tools/list");
    expect([reply.status, reply.body.code]).toEqual([status, code]);
  });

  test("the admin token as a bearer is rejected, also if the intent has no agents", async () => {
    const mcp = await startMcp({ intent: {} }, { authorization: `Bearer ${ADMIN}` });
    expect((await mcp.request("tools/list")).body).toMatchObject({ code: "agent_required", status: 403 });
  });

  test("if reads are protected, an agent's secret or the read token is required", async () => {
    const protectedReads = { protectReads: true, readToken: "a token that reads only" };
    expect((await (await startMcp(protectedReads, {})).request("tools/list")).status).toBe(401);
    expect(
      await listToolNames(await startMcp(protectedReads, { "x-svc-read-token": "a token that reads only" })),
    ).toEqual(READS);
    expect(await listToolNames(await startMcp(protectedReads))).toEqual([...READS, ...WRITES]);
  });

  test("a host without anonymous writes still allows reads", async () => {
    const mcp = await startMcp({ adminToken: undefined, allowAnonymousWrites: false }, {});
    expect(await listToolNames(mcp)).toEqual(READS);
  });

  test("without a product MCP is disabled", async () => {
    const mcp = await startMcp({ intent: null }, {});
    expect((await mcp.request("tools/list")).body).toMatchObject({ code: "product_runtime_disabled", status: 503 });
  });

  test("a body of over 64 KiB is not read", async () => {
    const reply = await (await startMcp()).send(`{"x":"${"x".repeat(70_000)}"}`);
    expect([reply.status, reply.body.code]).toEqual([413, "payload_too_large"]);
  });
});

test("a result about a change links to its page, in versions with resource links", async () => {
  const mcp = await startMcp({ publicUrl: "https://gov.acme.example" });
  const call = (headers: Record<string, string>, meta: object = {}) =>
    mcp.send(
      {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: {
          name: "propose_change",
          arguments: { tenant_id: "t1", kind: "config", target: "limits.uploads", summary: "Raise the limit" },
          ...meta,
        },
      },
      headers,
    );
  const modern = makeMessage("modern", "tools/call", { name: "propose_change" });
  for (const { body } of [
    await call(modern.headers as Record<string, string>, { _meta: modern.params["_meta"] }),
    await call({ "mcp-protocol-version": "2025-06-18" }),
  ]) {
    const { content, structuredContent } = body.result;
    const { change_id, page } = structuredContent;
    expect(page).toContain(change_id);
    expect(content[1]).toMatchObject({ type: "resource_link", uri: page, name: change_id, title: "Raise the limit" });
  }
  // Resource links exist since 2025-06-18; a request without the header is treated as an older one.
  for (const headers of [{}, { "mcp-protocol-version": "2025-03-26" }] as Record<string, string>[])
    expect((await call(headers)).body.result.content).toHaveLength(1);
});
