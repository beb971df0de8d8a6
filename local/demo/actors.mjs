/** Starts the shop and the agent of the demo, each in its own process. */
import { fileURLToPath } from "node:url";

const script = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Starts the shop; `readText(target)` returns the sentence of its page that a target decides, `measure()` its KPIs. */
export async function openShop(start, folder, service) {
  const { waitForLine } = start(script("shop.mjs"), [service.url], { cwd: folder });
  const url = await waitForLine((text) => (text.startsWith("http://") ? text : undefined));
  const readText = async (target) => {
    const page = await (await fetch(url)).text();
    return new RegExp(`<li data-target="${target}">([^<]*)</li>`).exec(page)[1];
  };
  const measure = async () => (await fetch(new URL("figures", url))).json();
  return { url, readText, measure };
}

/** Starts the agent with one of its proposals; `waitForEvent(event)` resolves with the line that it prints for that event. */
export function startAgent(start, folder, service, { secret, proposal }) {
  const { waitForLine } = start(script("agent.mjs"), [service.url, proposal], {
    cwd: folder,
    env: { SVC_AGENT_TOKEN: secret },
  });
  return {
    waitForEvent: (event) =>
      waitForLine((text) => {
        const message = text.startsWith("{") ? JSON.parse(text) : {};
        return message.event === event ? message : undefined;
      }),
  };
}
