/** Setup of docs/client.md: a server in place of the model, which proposes, tries to approve, and waits for a person's consent. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { expect, test } from "vitest";
import { client } from "../../support/client.ts";
import type { DocumentRun } from "../document_run.ts";
import type { DocumentSetup } from "./index.ts";

interface Message {
  role: string;
  content?: string;
}

const PROPOSAL = { tenant_id: "t1", kind: "config", target: "price.list", summary: "Raise the list price", value: 103 };
/** Messages and names of tools in the last request to the model. */
const conversation: Message[] = [];
let offeredTools: string[] = [];
let currentRun: () => DocumentRun;

/** Returns the model's next message after these tool results. */
async function answerAsModel(results: string[]): Promise<object> {
  const [proposeResult] = results;
  const { change_id } = JSON.parse(proposeResult ?? "{}") as { change_id?: string };
  const callTool = (name: string, args: object) => ({
    role: "assistant",
    tool_calls: [
      { id: `call_${results.length}`, type: "function", function: { name, arguments: JSON.stringify(args) } },
    ],
  });
  switch (results.length) {
    case 0:
      return callTool("propose_change", PROPOSAL);
    case 1:
      return callTool("approve_change", { change_id, approver: "ana" });
    case 2:
      await client(fetch, currentRun().url(8420)).must("approve", change_id!); // the person consents
      return callTool("wait_for_decision", { change_id });
    default:
      return { role: "assistant", content: `Ana consented: ${change_id} is ${JSON.parse(results.at(-1)!).status}.` };
  }
}

export const clientManual: DocumentSetup = {
  programs: ["openssl"],
  async prepare() {
    const model = createServer(async (request, response) => {
      const { messages, tools } = (await json(request)) as {
        messages: Message[];
        tools: { function: { name: string } }[];
      };
      conversation.splice(0, Infinity, ...messages);
      offeredTools = tools.map(({ function: { name } }) => name);
      const results = messages.filter(({ role }) => role === "tool").map(({ content }) => content!);
      response.end(JSON.stringify({ choices: [{ message: await answerAsModel(results) }] }));
    }).listen(0, "127.0.0.1");
    await once(model, "listening");
    const { port } = model.address() as AddressInfo;
    return {
      replacements: { "https://llm.example/v1": `http://127.0.0.1:${port}/v1` },
      async close() {
        model.close();
        model.closeAllConnections();
      },
    };
  },
  declareTests(documentRun) {
    currentRun = documentRun;
    test("the model gets no tool that decides, and a tool that it invents is not called", async () => {
      expect(offeredTools).toEqual(["propose_change", "get_change", "wait_for_decision"]);
      const results = conversation.filter(({ role }) => role === "tool").map(({ content }) => JSON.parse(content!));
      expect(results[1]).toEqual({ error: "there is no tool approve_change" });
      const change = await client(fetch, documentRun().url(8420)).change(results[0].change_id);
      expect(change).toMatchObject({
        proposer: "agent:pricing",
        proposer_kind: "agent",
        value: 103,
        status: "approved",
      });
      expect(change.approvals).toMatchObject([{ approver: "ana" }]);
    });
  },
};
