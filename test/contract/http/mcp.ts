/** MCP on a host, without sessions: an agent proposes and waits, and a person decides. */
import { expect, test } from "vitest";
import { asAgent, AGENT, type Era, mcpClient, withAgents } from "../../support/mcp.ts";
import { PROPOSAL } from "../../support/client.ts";
import type { Open } from "../http_contract.ts";

const TOKEN = "correct horse battery staple";

export function mcpRules(open: Open): void {
  const connect = async () => {
    const api = await open({ adminToken: TOKEN, intent: withAgents() });
    return { api, mcp: mcpClient(api.fetch, asAgent, api.origin) };
  };

  test.each<Era>(["modern", "legacy"])(
    "an agent of the %s era proposes and waits, and a person decides",
    async (era) => {
      const { api, mcp } = await connect();
      const { change_id, status } = await mcp.tool("propose_change", PROPOSAL, era);
      expect(status).toBe("pending_consent");
      const waiting = mcp.tool("wait_for_decision", { change_id, timeout_seconds: 20 }, era);
      await api.post("approve", { change_id, approver: "ana" }, { "x-svc-admin-token": TOKEN });
      expect(await waiting).toMatchObject({ moved: true, status: "approved", proposer: AGENT });
      await api.post("apply", { change_id }, { "x-svc-admin-token": TOKEN });
      expect(await mcp.tool("get_change", { change_id }, era)).toMatchObject({ status: "applied" });
    },
  );

  test("responses are JSON, a notification gets none, and GET and DELETE get 405", async () => {
    const { api, mcp } = await connect();
    const listed = await mcp.request("tools/list");
    expect([listed.status, listed.headers.get("content-type")]).toEqual([200, "application/json"]);
    const notified = await mcp.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    expect([notified.status, notified.body]).toEqual([202, null]);
    for (const method of ["GET", "DELETE"])
      expect((await api.send(new Request(`${api.origin}/mcp`, { method, headers: asAgent }))).status).toBe(405);
  });

  test("a value that would be rounded is rejected, and null counts as absent for optional fields", async () => {
    const { mcp } = await connect();
    const send = async (fields: string) => {
      // Written as text, since JavaScript would round the number before it is sent.
      const proposal = `${JSON.stringify(PROPOSAL).slice(0, -1)},${fields}}`;
      const { body } = await mcp.send(
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"propose_change","arguments":${proposal}}}`,
        { "mcp-protocol-version": "2025-06-18" },
      );
      return body.result;
    };
    const rejected = await send('"value":9007199254740993');
    expect([rejected.isError, rejected.content[0].text]).toEqual([
      true,
      expect.stringContaining("send it as a string"),
    ]);
    const accepted = await send('"value":0.1,"affected_users":null,"kpi":null,"idempotency_key":null');
    expect([accepted.isError, accepted.structuredContent]).toMatchObject([
      undefined,
      { value: 0.1, affected_users: null },
    ]);
  });

  test("only an agent's secret is accepted, and pages of other sites are rejected", async () => {
    const { api } = await connect();
    const readError = async (headers: Record<string, string>) => {
      const { status, body } = await mcpClient(api.fetch, headers, api.origin).request("tools/list");
      return [status, body.code];
    };
    expect(await readError({ authorization: "Bearer unknown" })).toEqual([401, "unauthorized"]);
    expect(await readError({ "x-svc-admin-token": TOKEN })).toEqual([403, "agent_required"]);
    expect(await readError({ ...asAgent, origin: "https://evil.example" })).toEqual([403, "cross_site"]);
  });
}
