// agent.mjs
import { createClient } from "countersign/client";

const { SVC_AGENT_TOKEN, LLM_URL, LLM_KEY = "", LLM_MODEL = "gpt" } = process.env;
const countersign = createClient({
  baseUrl: "http://127.0.0.1:8420",
  headers: { Authorization: `Bearer ${SVC_AGENT_TOKEN}` },
});

const text = { type: "string" };
const oneChange = { type: "object", properties: { change_id: text }, required: ["change_id"] };
const proposal = {
  type: "object",
  properties: {
    ...{ tenant_id: text, target: text, summary: text, rationale: text, value: {} },
    kind: { enum: ["config", "workflow", "feature_flag", "code_patch", "experiment"] },
  },
  required: ["tenant_id", "kind", "target", "summary"],
};

const tools = {
  propose_change: {
    description: "Propose a change to the product. It is not made before people have consented.",
    parameters: proposal,
    run: (body) => countersign.post("/api/product/propose", { body }),
  },
  get_change: {
    description: "Read a change: its status, who consented, and what is missing.",
    parameters: oneChange,
    run: (path) => countersign.get("/api/product/changes/{change_id}", { params: { path } }),
  },
  wait_for_decision: {
    description: "Wait until people have decided on a change.",
    parameters: oneChange,
    run: ({ change_id }) => countersign.waitForDecision(change_id),
  },
};

async function call({ name, arguments: given }) {
  try {
    if (!Object.hasOwn(tools, name)) throw new Error(`there is no tool ${name}`);
    const { change_id, status, resolution, missing } = await tools[name].run(JSON.parse(given));
    return { change_id, status, resolution, missing };
  } catch (error) {
    return { error: error.message };
  }
}

const messages = [{ role: "user", content: process.argv[2] }];
const offered = Object.entries(tools).map(([name, { description, parameters }]) => ({
  type: "function",
  function: { name, description, parameters },
}));

for (let turn = 0; turn < 20; turn++) {
  const response = await fetch(`${LLM_URL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${LLM_KEY}` },
    body: JSON.stringify({ model: LLM_MODEL, messages, tools: offered }),
  });
  if (!response.ok) throw new Error(`the model answered ${response.status}`);
  const [{ message }] = (await response.json()).choices;
  messages.push(message);
  if (!message.tool_calls?.length) {
    console.log(message.content);
    break;
  }
  for (const { id, function: called } of message.tool_calls)
    messages.push({ role: "tool", tool_call_id: id, content: JSON.stringify(await call(called)) });
}
