/** Actors other than the service: the shop and the agent, each in a process of its own. */
import { fileURLToPath } from "node:url";

const script = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Starts the shop; `says(target)` reads from its page what a target decides, `figures()` measures its customers. */
export async function openShop(start, folder, service) {
  const { line } = start(script("shop.mjs"), [service.url], { cwd: folder });
  const url = await line((text) => (text.startsWith("http://") ? text : undefined));
  const says = async (target) => {
    const page = await (await fetch(url)).text();
    return new RegExp(`<li data-target="${target}">([^<]*)</li>`).exec(page)[1];
  };
  const figures = async () => (await fetch(new URL("figures", url))).json();
  return { url, says, figures };
}

/** Starts the agent with one of its proposals; `reported(event)` resolves with its line about that event. */
export function sendAgent(start, folder, service, { secret, proposal }) {
  const { line } = start(script("agent.mjs"), [service.url, proposal], {
    cwd: folder,
    env: { SVC_AGENT_TOKEN: secret },
  });
  return {
    reported: (event) =>
      line((text) => {
        const reported = text.startsWith("{") ? JSON.parse(text) : {};
        return reported.event === event ? reported : undefined;
      }),
  };
}
