/** The protocol itself: both eras, what is refused and how, who sees what. */
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

async function served(options: TestOptions = {}, headers: Record<string, string> = asAgent) {
  const deps = await openDeps({ intent: withAgents(), adminToken: ADMIN, ...options });
  const fetch = checkedFetch(app(deps), [ADMIN, SECRET]);
  return { ...mcpClient(fetch, headers), api: client(fetch) };
}
type Mcp = Awaited<ReturnType<typeof served>>;

const namesOf = async (mcp: Mcp, era: "modern" | "legacy" = "modern"): Promise<string[]> =>
  (await mcp.request("tools/list", {}, era)).body.result.tools.map(({ name }: { name: string }) => name);

test.each(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])(
  "a client of version %s gets a handshake in that version",
  async (version) => {
    const mcp = await served();
    const { status, body } = await mcp.request("initialize", { protocolVersion: version, capabilities: {} }, "legacy");
    expect([status, body.result]).toMatchObject([
      200,
      { protocolVersion: version, capabilities: { tools: {} }, serverInfo: { name: "countersign" } },
    ]);
    expect(body.result).not.toHaveProperty("resultType");
  },
);

test("a handshake for an unknown version is answered with the newest version with handshakes", async () => {
  const mcp = await served();
  for (const protocolVersion of ["2026-07-28", "1999-01-01", 7])
    expect((await mcp.request("initialize", { protocolVersion }, "legacy")).body.result.protocolVersion).toBe(
      "2025-11-25",
    );
});

test("a newer client discovers the capabilities, and every result is marked as a result", async () => {
  const mcp = await served();
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
  const mcp = await served();
  expect((await mcp.request("ping", {}, "legacy")).body).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
  const { status, body } = await mcp.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  expect([status, body]).toEqual([202, null]);
});

describe("rejected with an error of the protocol", () => {
  const good = makeMessage("modern", "tools/list");
  const listing = { jsonrpc: "2.0", id: 7, method: "tools/list", params: good.params };
  const meta = good.params["_meta"] as Record<string, unknown>;
  const without = (key: string) => ({
    ...listing,
    params: { _meta: Object.fromEntries(Object.entries(meta).filter(([name]) => !name.endsWith(key))) },
  });
  const other = { ...meta, "io.modelcontextprotocol/protocolVersion": "2099-01-01" };

  test.each<[string, unknown, Record<string, string>, number, number, unknown]>([
    ["no JSON", "{", {}, 400, -32700, null],
    ["a repeated member", '{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}', {}, 400, -32700, null],
    ["a batch", [{ jsonrpc: "2.0", id: 7, method: "ping" }], {}, 400, -32600, null],
    ["an empty batch", [], {}, 400, -32600, null],
    ["no message", 7, {}, 400, -32600, null],
    ["another JSON-RPC", { jsonrpc: "1.0", id: 7, method: "ping" }, {}, 400, -32600, 7],
    ["no method", { jsonrpc: "2.0", id: 7 }, {}, 400, -32600, 7],
    ["an answer", { jsonrpc: "2.0", id: 7, result: {} }, {}, 400, -32600, 7],
    ["no id that is one", { jsonrpc: "2.0", id: null, method: "ping" }, {}, 400, -32600, null],
    ["half an id", { jsonrpc: "2.0", id: 1.5, method: "ping" }, {}, 400, -32600, null],
    ["a list of params", { jsonrpc: "2.0", id: 7, method: "ping", params: [1] }, {}, 400, -32600, 7],
    ["a method that is not there", { jsonrpc: "2.0", id: 7, method: "resources/list" }, {}, 200, -32601, 7],
    [
      "a version that is not there",
      { jsonrpc: "2.0", id: 7, method: "ping" },
      { "mcp-protocol-version": "1999" },
      400,
      -32022,
      7,
    ],
    ["a newer request without _meta", { ...listing, params: {} }, good.headers, 400, -32602, 7],
    ["a newer request without its version", without("protocolVersion"), good.headers, 400, -32602, 7],
    ["a newer request without capabilities", without("clientCapabilities"), good.headers, 400, -32602, 7],
    ["a newer request without the header", listing, {}, 400, -32020, 7],
    [
      "another version in the header",
      listing,
      { ...good.headers, "mcp-protocol-version": "2025-11-25" },
      400,
      -32020,
      7,
    ],
    ["another method in the header", listing, { ...good.headers, "mcp-method": "tools/call" }, 400, -32020, 7],
    ["the method in other letters", listing, { ...good.headers, "mcp-method": "Tools/List" }, 400, -32020, 7],
    ["no method in the header", listing, { "mcp-protocol-version": "2026-07-28" }, 400, -32020, 7],
    [
      "a version to come",
      { ...listing, params: { _meta: other } },
      { ...good.headers, "mcp-protocol-version": "2099-01-01" },
      400,
      -32022,
      7,
    ],
  ])("%s", async (_, body, headers, status, code, id) => {
    const answered = await (await served()).send(body, headers);
    expect([answered.status, answered.body]).toEqual([
      status,
      { jsonrpc: "2.0", id, error: expect.objectContaining({ code, message: expect.stringMatching(/\S/) }) },
    ]);
  });

  test.each(["initialize", "ping", "logging/setLevel", "subscriptions/listen", "tasks/list", "constructor"])(
    "%s does not exist in newer versions",
    async (method) => {
      const { status, body } = await (await served()).request(method);
      expect([status, body.error.code]).toEqual([404, -32601]);
    },
  );

  test("the name in the header must equal that in the body, encoded or not", async () => {
    const mcp = await served();
    const { params, headers } = makeMessage("modern", "tools/call", { name: "product_state", arguments: {} });
    const calling = { jsonrpc: "2.0", id: 7, method: "tools/call", params };
    const named = async (name: string) => (await mcp.send(calling, { ...headers, "mcp-name": name })).body;
    expect(await named(`=?base64?${btoa("product_state")}?=`)).toHaveProperty("result");
    for (const name of ["get_change", `=?base64?${btoa("get_change")}?=`, "=?base64?%%?="])
      expect(await named(name)).toMatchObject({ error: { code: -32020 } });
  });
});

test("a name that is not text is rejected", async () => {
  const mcp = await served();
  const textless = { toString: 1, valueOf: 1 };
  for (const name of [undefined, null, 7, [], textless, ["product_state"], "constructor", "x".repeat(50_000)])
    for (const era of ["modern", "legacy"] as const) {
      const { params, headers } = makeMessage(era, "tools/call", { arguments: {} });
      const named = typeof name === "string" ? { "mcp-name": name } : {};
      const { status, body } = await mcp.send(
        { jsonrpc: "2.0", id: 7, method: "tools/call", params: { ...params, ...(name !== undefined && { name }) } },
        { ...headers, ...named },
      );
      expect([status, body.error.code]).toEqual([200, -32602]);
      expect(body.error.message).toMatch(/^Unknown tool: .{1,100}; tools\/list tells/);
    }
});

test("GET and DELETE are 405", async () => {
  const { api } = await served();
  for (const method of ["GET", "DELETE", "PUT", "HEAD"]) {
    const answered = await api.send(new Request(`${api.origin}/mcp`, { method, headers: asAgent }));
    expect([answered.status, answered.headers.get("allow")]).toEqual([405, "POST"]);
  }
});

describe("callers", () => {
  test("an agent gets all tools and its own name", async () => {
    const mcp = await served();
    expect(await namesOf(mcp)).toEqual([...READS, ...WRITES]);
    expect(await namesOf(mcp, "legacy")).toEqual([...READS, ...WRITES]);
    expect((await mcp.request("server/discover")).body.result.instructions).toContain("You are agent:pricing");
  });

  test.each<[string, TestOptions, RegExp]>([
    ["where there are agents", {}, /no agent's secret/],
    ["where the intent has none", { intent: {} }, /names no agents/],
  ])("without a secret only read tools are offered, and the response says so, %s", async (_, options, why) => {
    const mcp = await served(options, {});
    expect(await namesOf(mcp)).toEqual(READS);
    expect((await mcp.request("server/discover")).body.result.instructions).toMatch(why);
    const proposal = { tenant_id: "t1", kind: "config", target: "ui.banner", summary: "Show" };
    expect(await mcp.tool("propose_change", proposal)).toMatchObject({ refused: { code: "agent_required" } });
    expect(await mcp.api.steps()).toEqual([]);
  });

  test("the tools have descriptions", async () => {
    const { body } = await (await served()).request("tools/list");
    for (const { name, description, annotations, inputSchema, outputSchema } of body.result.tools) {
      expect(description.length).toBeGreaterThan(40);
      expect(annotations).toMatchObject({ readOnlyHint: READS.includes(name), destructiveHint: false });
      expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
      expect(outputSchema).toMatchObject({ type: "object" });
    }
  });

  test.each<[string, Record<string, string>, number, string]>([
    ["a secret that is nobody's", { authorization: "Bearer x" }, 401, "unauthorized"],
    ["two secrets", { authorization: `Bearer ${SECRET}, Bearer ${SECRET}` }, 401, "unauthorized"],
    ["the admin token", { "x-svc-admin-token": ADMIN }, 403, "agent_required"],
    ["another admin token", { "x-svc-admin-token": "x" }, 403, "agent_required"],
    ["the admin token and a secret", { ...asAgent, "x-svc-admin-token": ADMIN }, 403, "agent_required"],
    ["the admin token as a secret", { authorization: `Bearer ${ADMIN}` }, 401, "unauthorized"],
    ["a page of another site", { ...asAgent, origin: "https://evil.example" }, 403, "cross_site"],
    ["a frame of another site", { ...asAgent, "sec-fetch-site": "cross-site" }, 403, "cross_site"],
    ["plain text", { ...asAgent, "content-type": "text/plain" }, 415, "unsupported_media_type"],
  ])("%s", async (_, headers, status, code) => {
    const answered = await (await served({}, headers)).request("tools/list");
    expect([answered.status, answered.body.code]).toEqual([status, code]);
  });

  test("the admin token as a bearer is rejected, also where bearers are not used", async () => {
    const mcp = await served({ intent: {} }, { authorization: `Bearer ${ADMIN}` });
    expect((await mcp.request("tools/list")).body).toMatchObject({ code: "agent_required", status: 403 });
  });

  test("where reads are protected an agent's secret or the read token is required", async () => {
    const protectedReads = { protectReads: true, readToken: "a token that reads only" };
    expect((await (await served(protectedReads, {})).request("tools/list")).status).toBe(401);
    expect(await namesOf(await served(protectedReads, { "x-svc-read-token": "a token that reads only" }))).toEqual(
      READS,
    );
    expect(await namesOf(await served(protectedReads))).toEqual([...READS, ...WRITES]);
  });

  test("a host without anonymous writes still allows reads", async () => {
    const mcp = await served({ adminToken: undefined, allowAnonymousWrites: false }, {});
    expect(await namesOf(mcp)).toEqual(READS);
  });

  test("without a product MCP is disabled", async () => {
    const mcp = await served({ intent: null }, {});
    expect((await mcp.request("tools/list")).body).toMatchObject({ code: "product_runtime_disabled", status: 503 });
  });

  test("a body of over 64 KiB is not read", async () => {
    const answered = await (await served()).send(`{"x":"${"x".repeat(70_000)}"}`);
    expect([answered.status, answered.body.code]).toEqual([413, "payload_too_large"]);
  });
});

test("an answer about a change links to its page, in the versions that have such links", async () => {
  const mcp = await served({ publicUrl: "https://gov.acme.example" });
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
  for (const headers of [{}, { "mcp-protocol-version": "2025-03-26" }] as Record<string, string>[])
    expect((await call(headers)).body.result.content).toHaveLength(1);
});
