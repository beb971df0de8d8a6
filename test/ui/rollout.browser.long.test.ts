/** A rollout in the console: its plan before consent, its measurements, and the buttons to hold, advance and roll it back. */
import { createHash } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { findViolations } from "./axe.ts";
import { button, startBrowser, useWindows, visit } from "./browser.ts";
import { INTENT, type Service, startService, TOKEN } from "./service.ts";

const SECRET = "the feeder's secret";
const FEEDER = { kind: "agent", token_sha256: createHash("sha256").update(SECRET).digest("hex") };
const STAGES = {
  unit: "userId",
  fed_by: "agent:analytics",
  users_a_day: 20_000,
  steps: [
    { share: 1000, advance: "budget", min_hours: 0 },
    { share: 5000, advance: "manual", min_hours: 0 },
  ],
  watch: [
    { kpi: "conversion", kind: "binary", good: "up", allowed: 0.05 },
    { kpi: "latency", kind: "mean", good: "down", allowed: { relative: 0.1 }, bounds: [0, 1000] },
  ],
};

const browser = await startBrowser();
let service: Service;

describe.skipIf(!browser)("a rollout", () => {
  const open = useWindows(browser);
  beforeAll(async () => {
    service = await startService({
      adapter: "none",
      intent: { ...INTENT, principals: { "agent:analytics": FEEDER } },
    });
  });

  test("can be held, resumed, advanced and rolled back on a phone", async () => {
    const id = await service.propose({ target: "checkout.short", value: "true", stages: JSON.stringify(STAGES) });
    const page = await open({ name: "ana", token: TOKEN, viewport: { width: 360, height: 740 } });
    await visit(page, service.url, `changes/${id}`);
    await page.getByText("One consent covers 2 steps and then everybody.").waitFor();
    expect(await page.getByRole("list", { name: "Facts" }).innerText()).toContain("2 steps, from 10% of the users");
    await service.post("api/product/approve", { change_id: id, approver: "bo" });
    await service.post("api/product/apply", { change_id: id });
    await page.getByText("Waits for new numbers from agent:analytics.").waitFor();
    await page.getByText("10% of the users").first().waitFor();
    await feed(id, 0, { users: 1000, share: 1000 });
    await page.getByText("Waits for more users: Conversion may still be worse than allowed.").waitFor();

    const takeAction = async (verb: string, confirmation: string) => {
      await button(page, `${verb}…`).click();
      await button(page, `${verb} as ana`).click();
      await page.getByText(confirmation).waitFor();
    };
    await takeAction("Hold", "The rollout is held.");
    await page.getByText("Waits for somebody to resume it.").waitFor();
    expect(await button(page, "Hold…").count()).toBe(0);
    await takeAction("Resume", "The rollout goes on.");
    await feed(id, 0, { users: 100_000, share: 1000 });
    await page.getByText("50% of the users").waitFor();
    await feed(id, 1, { users: 3000, share: 5000, rate: 0.21 });
    await page.getByText("Waits for a person to take the next step.").waitFor();
    const bands = page.locator(".bands > li");
    await page.getByRole("heading", { name: "Measured at 50%" }).waitFor();
    expect(await bands.allInnerTexts()).toEqual([
      expect.stringMatching(
        /^Conversion\s+No worse than allowed\s+Worse by at least −\d\.\d+ points, at most \d\.\d+ points; 5 points allowed\. 21% of 1,500 users with the new value, 20% of 1,500 without\.$/,
      ),
      expect.stringMatching(
        /^Latency\s+No worse than allowed\s+Worse by at least −\d\.\d+%, at most \d\.\d+%; 10% allowed\./,
      ),
    ]);
    const picture = (await bands.locator("svg.band").first().boundingBox())!;
    expect(picture.width).toBeGreaterThan(0.6 * 360);
    expect(picture.x + picture.width).toBeLessThanOrEqual(360);
    expect(await page.evaluate(() => document.documentElement.scrollWidth), "the page does not scroll sideways").toBe(
      360,
    );
    expect(await findViolations(page, "a rollout")).toEqual([]);

    await takeAction("Next step", "The rollout took its next step.");
    await page.getByText("Everybody has the new value.").waitFor();
    await button(page, "Roll back…").click();
    await button(page, "Roll back as ana").click();
    await page.getByText("It was rolled back; everybody has the earlier value.").waitFor();
  });
});

/**
 * Feeds totals of both watched KPIs; `share` of 10,000 users have the new value, and convert at `rate`. The mean latency is 100,
 * with a variance of 2,000.
 */
async function feed(
  change_id: string,
  step: number,
  { users, share, rate = 0.2 }: { users: number; share: number; rate?: number },
): Promise<void> {
  const n = Math.round((users * share) / 10_000);
  const binary = (count: number, successRate: number) => ({ n: count, sum: Math.round(count * successRate) });
  const mean = (count: number) => ({ n: count, sum: count * 100, sum2: count * 12_000 });
  const as_of = new Date().toISOString();
  const rows = [
    { step, kpi: "conversion", as_of, treated: binary(n, rate), control: binary(users - n, 0.2) },
    { step, kpi: "latency", as_of, treated: mean(n), control: mean(users - n) },
  ];
  const headers = { "content-type": "application/json", authorization: `Bearer ${SECRET}` };
  const body = JSON.stringify({ change_id, rows });
  const answer = await fetch(new URL("api/product/samples", service.url), { method: "POST", headers, body });
  expect([answer.status, answer.status === 200 ? "" : await answer.text()]).toEqual([200, ""]);
}
