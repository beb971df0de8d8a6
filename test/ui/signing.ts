/** Helpers for services whose people sign in the console, and a count of the clicks and keys that signing takes. */
import type { Page } from "playwright-core";
import { button, visit } from "./browser.ts";
import { INTENT, type Service, type StartOptions, startService } from "./service.ts";

/** Makes an intent of the next update epoch whose principals can sign. */
export const makeSigningIntent = (principals: object, policy: object = {}, more: object = {}) => ({
  ...INTENT,
  update_epoch: INTENT.update_epoch + 1,
  principals,
  ...more,
  policy: { ...INTENT.policy, approvers: ["ana"], required_approvers: { standard: 1 }, self_approval: true, ...policy },
});

/** An intent that lists no keys. */
export const INTENT_WITHOUT_KEYS = makeSigningIntent({}, {}, { update_epoch: INTENT.update_epoch });

/** Returns the address of a service by the name localhost, which passkeys need instead of an IP address. */
export const localhostUrl = ({ url }: Service): string => url.replace("127.0.0.1", "localhost");

/** Stops a service and starts it again in its folder, on its port. */
export async function restart(before: Service, start: StartOptions): Promise<Service> {
  before.server.child.kill("SIGTERM");
  await before.server.ended;
  return startService({ before, ...start });
}

/** Counts the clicks and keys in a window, from the next page load on. */
export async function countInputs(page: Page): Promise<() => Promise<{ clicks: number; keys: number }>> {
  await page.addInitScript(() => {
    const inputs = ((globalThis as unknown as { inputs: object }).inputs = { clicks: 0, keys: 0 });
    addEventListener("click", ({ isTrusted }) => isTrusted && inputs.clicks++, true);
    addEventListener("keydown", ({ isTrusted }) => isTrusted && inputs.keys++, true);
  });
  return () => page.evaluate(() => (globalThis as unknown as { inputs: { clicks: number; keys: number } }).inputs);
}

/** Returns the log's entries about the decisions on a change. */
export const readDecisions = async (service: Service, id: string) =>
  (await service.get(`api/product/audit?change_id=${id}`)).entries
    .filter(({ event_type }: { event_type: string }) => event_type === "consent_decision")
    .map(({ detail }: { detail: string }) => JSON.parse(detail));

/** Makes a passkey in the console and returns the principals that the console shows for the intent. */
export async function enrolPasskey(page: Page, service: Service): Promise<object> {
  await visit(page, localhostUrl(service), "you");
  await button(page, "Make a passkey").click();
  const shown = await page.getByRole("region", { name: "For the intent" }).innerText();
  return JSON.parse(`{${shown}}`);
}
