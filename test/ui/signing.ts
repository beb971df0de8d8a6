/** Services whose people sign in the console, and how much they do for it. */
import type { Page } from "playwright-core";
import { button, visit } from "./browser.ts";
import { INTENT, type Service, type Start, startService } from "./service.ts";

/** The changed intent, of the next epoch, under which these people sign. */
export const signedIntent = (principals: object, policy: object = {}, more: object = {}) => ({
  ...INTENT,
  update_epoch: INTENT.update_epoch + 1,
  principals,
  ...more,
  policy: { ...INTENT.policy, approvers: ["ana"], required_approvers: { standard: 1 }, self_approval: true, ...policy },
});

/** An intent that lists nobody's key. */
export const NOBODY = signedIntent({}, {}, { update_epoch: INTENT.update_epoch });

/** The same service under the name that passkeys need. */
export const named = ({ url }: Service): string => url.replace("127.0.0.1", "localhost");

/** Starts a service again in its folder, on its port. */
export async function restart(before: Service, start: Start): Promise<Service> {
  before.server.child.kill("SIGTERM");
  await before.server.ended;
  return startService({ before, ...start });
}

/** Counts what a person does in a window, from its next page on. */
export async function counted(page: Page): Promise<() => Promise<{ clicks: number; keys: number }>> {
  await page.addInitScript(() => {
    const done = ((globalThis as unknown as { done: object }).done = { clicks: 0, keys: 0 });
    addEventListener("click", ({ isTrusted }) => isTrusted && done.clicks++, true);
    addEventListener("keydown", ({ isTrusted }) => isTrusted && done.keys++, true);
  });
  return () => page.evaluate(() => (globalThis as unknown as { done: { clicks: number; keys: number } }).done);
}

/** Returns the log's entries about the decisions on a change. */
export const readDecisions = async (service: Service, id: string) =>
  (await service.get(`api/product/audit?change_id=${id}`)).entries
    .filter(({ event_type }: { event_type: string }) => event_type === "consent_decision")
    .map(({ detail }: { detail: string }) => JSON.parse(detail));

/** Makes a passkey in the console, and gives what it shows for the intent. */
export async function enrol(page: Page, service: Service): Promise<object> {
  await visit(page, named(service), "you");
  await button(page, "Make a passkey").click();
  const shown = await page.getByRole("region", { name: "For the intent" }).innerText();
  return JSON.parse(`{${shown}}`);
}
