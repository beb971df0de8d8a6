/** An agent over MCP, a person in the console and a product over OFREP work on one change, all with stock clients. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { OFREPProvider } from "@openfeature/ofrep-provider";
import { OpenFeature } from "@openfeature/server-sdk";
import { afterAll, describe, expect, test } from "vitest";
import { SECRET, withAgents } from "../support/mcp.ts";
import { button, startBrowser, useWindows } from "./browser.ts";
import { INTENT, startService, TOKEN } from "./service.ts";

const browser = await startBrowser();

describe.skipIf(!browser)("an agent, a person and a product", () => {
  const open = useWindows(browser);
  afterAll(() => OpenFeature.close());

  test("an agent proposes, a person decides and applies, and the product reads the new value", async () => {
    const { url } = await startService({ intent: { ...INTENT, ...withAgents() } });
    await OpenFeature.setProviderAndWait(new OFREPProvider({ baseUrl: url }));
    const product = OpenFeature.getClient();
    const price = () => product.getNumberValue("price.list", 29, { targetingKey: "t1" });
    expect(await price()).toBe(29);

    const agent = new Client({ name: "pricing", version: "1" });
    const headers = { authorization: `Bearer ${SECRET}` };
    await agent.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
    const { tools } = await agent.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["propose_change", "wait_for_decision", "get_change"]));
    expect(names.filter((name) => /approve|deny|apply|roll|freeze|kpi|intent/.test(name))).toEqual([]);
    // oxlint-disable-next-line no-explicit-any -- tool results have no type
    const call = async (name: string, args: Record<string, unknown>): Promise<any> =>
      (await agent.callTool({ name, arguments: args })).structuredContent;

    const proposal = {
      tenant_id: "t1",
      kind: "config",
      target: "price.list",
      value: 49,
      summary: "Raise the list price",
    };
    const { change_id, page, missing } = await call("propose_change", proposal);
    expect(missing).toMatchObject([{ count: 1, of: ["ana", "bo"] }]);
    const decision = call("wait_for_decision", { change_id });

    const person = await open({ name: "ana", token: TOKEN });
    await person.goto(page);
    await person.locator(".lead", { hasText: "pricing asks to" }).waitFor();
    await button(person, "Approve…").click();
    await button(person, "Approve as ana").click();
    expect(await decision).toMatchObject({ status: "approved", moved: true });
    expect(await price()).toBe(29);

    const applied = call("wait_for_decision", { change_id, seen_status: "approved" });
    await button(person, "Apply…").click();
    await button(person, "Apply as ana").click();
    expect(await applied).toMatchObject({ status: "applied" });
    expect(await call("get_change", { change_id })).toMatchObject({ status: "applied", value: 49 });
    expect(await price()).toBe(49);
    await agent.close();
  });
});
