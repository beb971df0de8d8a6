/**
 * Tests unmodified clients of the official MCP SDKs against the built program, over HTTP and over standard input and output.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as esbuild from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { client } from "../support/client.ts";
import { manifest } from "../support/intents.ts";
import { AGENT, SECRET, withAgents } from "../support/mcp.ts";
import { killServers, type Server, serve, temporaryFolder } from "./server.ts";

const ADMIN = "correct horse battery staple";
const PROPOSAL = { tenant_id: "t1", kind: "config", target: "ui.banner", summary: "Show the banner", value: "hello" };

const folder = temporaryFolder();
let server: Server;

beforeAll(async () => {
  mkdirSync(join(folder, "data"));
  writeFileSync(join(folder, "intent.json"), JSON.stringify(manifest(withAgents())));
  server = await serve(folder, ["--product-intent=intent.json", "--product-config=data/product.json"], {
    SVC_ADMIN_TOKEN: ADMIN,
  });
});
afterAll(() => killServers(folder));

/** The operations that all these clients have. */
interface McpClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  getInstructions(): string | undefined;
  close(): Promise<void>;
}

const requestInit = { headers: { authorization: `Bearer ${SECRET}` } };
const CLIENT_INFO = { name: "an agent", version: "1" };

async function overHttp(mode: "auto" | "legacy"): Promise<McpClient> {
  const mcpClient = new Client(CLIENT_INFO, { versionNegotiation: { mode } });
  await mcpClient.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }));
  return mcpClient;
}

async function overOlderSdk(): Promise<McpClient> {
  const mcpClient = new LegacyClient(CLIENT_INFO);
  await mcpClient.connect(new LegacyTransport(new URL(`${server.url}/mcp`), { requestInit }) as never);
  return mcpClient as never;
}

/** Starts `countersign mcp` as a process. */
async function overStdio(mode: "auto" | "legacy"): Promise<McpClient> {
  const outfile = join(folder, "bridge.mjs");
  await esbuild.build({
    stdin: {
      contents: 'import "./local/command_line/main.ts";',
      resolveDir: join(import.meta.dirname, "../.."),
      loader: "ts",
    },
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    // Bundled CommonJS packages call `require`, which ES modules do not have.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
  });
  const mcpClient = new Client(CLIENT_INFO, { versionNegotiation: { mode } });
  // The bridge must not forward an admin token of its environment.
  const env = { SVC_AGENT_TOKEN: SECRET, SVC_ADMIN_TOKEN: ADMIN };
  const args = [outfile, "mcp", "--url", server.url];
  await mcpClient.connect(new StdioClientTransport({ command: process.execPath, args, env }));
  return mcpClient;
}

/** Runs all operations; the client itself also validates the responses. */
async function runAllOperations(mcpClient: McpClient): Promise<void> {
  const { tools } = await mcpClient.listTools();
  expect(tools.map(({ name }) => name)).toContain("propose_change");
  expect(mcpClient.getInstructions()).toContain(AGENT);
  const call = async (name: string, args: Record<string, unknown>) => {
    // oxlint-disable-next-line no-explicit-any -- tool results have no type
    const { structuredContent, isError, content } = (await mcpClient.callTool({ name, arguments: args })) as any;
    expect(isError ?? false, JSON.stringify(content)).toBe(false);
    return structuredContent;
  };
  const { change_id, page, missing } = await call("propose_change", PROPOSAL);
  expect(page).toBe(`${server.url}/#/changes/${change_id}`);
  expect(missing).toMatchObject([{ of: ["ana", "bo"] }]);
  const person = client((request) => fetch(request), server.url);
  const token = { "x-svc-admin-token": ADMIN };
  const waiting = call("wait_for_decision", { change_id });
  expect((await person.post("approve", { change_id, approver: "ana" }, token)).status).toBe(200);
  expect(await waiting).toMatchObject({ moved: true, status: "approved", approvals: [{ approver: "ana" }] });
  const applying = call("wait_for_decision", { change_id, seen_status: "approved" });
  expect((await person.post("apply", { change_id }, token)).status).toBe(200);
  expect(await applying).toMatchObject({ moved: true, status: "applied" });
  await mcpClient.close();
}

describe.each(["auto", "legacy"] as const)("the official SDK, version negotiation %s", (mode) => {
  test("runs all operations over HTTP", async () => runAllOperations(await overHttp(mode)));
  test("runs all operations through `countersign mcp`", async () => runAllOperations(await overStdio(mode)));
});

test("an official SDK of the older protocol runs all operations", async () => runAllOperations(await overOlderSdk()));
