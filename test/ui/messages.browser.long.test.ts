/** From a message to a decision: the message to a person, what they do then, and what the window's title says meanwhile. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { authenticator } from "./authenticator.ts";
import { button, PAGES, startBrowser, useWindows, visit, withoutNews } from "./browser.ts";
import { INTENT, startService, TOKEN } from "./service.ts";
import { counted, readDecisions, enrol, named, NOBODY, restart, signedIntent } from "./signing.ts";

const browser = await startBrowser();
const ANA = { name: "ana", token: TOKEN };

/** A message as Slack gets it. */
interface Message {
  text: string;
  blocks: { type: string; elements?: { url?: string }[] }[];
}

/** Slack, as far as an incoming webhook sees of it; `next` resolves with the next message. */
async function slack() {
  const messages: Message[] = [];
  let arrived = () => {};
  const server = createServer(async (request, response) => {
    messages.push(JSON.parse(await text(request)));
    response.end("ok");
    arrived();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  let read = 0;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/services/T0/B0/x`,
    async next(): Promise<Message> {
      while (messages.length <= read) await new Promise<void>((resolve) => (arrived = resolve));
      return messages[read++]!;
    },
  };
}

const buttonOf = ({ blocks }: Message): string => blocks.flatMap(({ elements = [] }) => elements).at(-1)!.url!;

describe.skipIf(!browser)("from a message", () => {
  const open = useWindows(browser);

  test("from message to decision: a message in Slack, its link, one click and one tap", async () => {
    const channel = await slack();
    const before = await startService({ intent: NOBODY });
    const page = await open(ANA);
    const device = await authenticator(page);
    const service = await restart(before, {
      intent: signedIntent(await enrol(page, before)),
      args: ["--notify-format=slack", `--public-url=${named(before)}`],
      env: { SVC_NOTIFY_URL: channel.url },
    });
    const done = await counted(page);

    const begun = performance.now();
    const id = await service.propose({ affected_users: "96000", risk: "high", tier: "major" });
    const message = await channel.next();
    const reported = performance.now();
    expect(message.text).toContain(
      "pat proposes “Raise the limit” (limits.uploads for tenant t1); high risk, reaches 96,000 people; still missing: ",
    );
    expect(message.text).toContain("ana");
    await page.goto(buttonOf(message));
    await page.reload();
    await button(page, "Approve with your key").waitFor();
    const shown = performance.now();
    await button(page, "Approve with your key").click();
    await page.getByText("Your consent is recorded.").waitFor();
    const decided = performance.now();

    const [given, ...others] = await readDecisions(service, id);
    expect(others).toEqual([]);
    expect(given).toMatchObject({ approver: "ana", decision: "approved", authenticated: "signature" });
    const did = { ...(await done()), taps: device.taps() };
    expect(did).toEqual({ clicks: 1, keys: 0, taps: 1 });
    expect((await channel.next()).text).toMatch(/ana/);
    const ms = (from: number, to: number) => `${Math.round(to - from)} ms`;
    process.stderr.write(
      `from message to decision: 1 link, ${did.clicks} click, ${did.keys} keys, ${did.taps} tap; sent after ${ms(begun, reported)}, page ready after ${ms(reported, shown)} more, signed after ${ms(shown, decided)} more\n`,
    );
  });

  /** The window's title, once it begins so. */
  const titled = (page: Page, count: string): Promise<unknown> =>
    page.waitForFunction((begin) => document.title.startsWith(begin), count);

  test("on every page the title counts what waits for a known person, and keeps up", async () => {
    const service = await startService({
      intent: { ...INTENT, policy: { ...INTENT.policy, approvers: ["ana", "bo"] } },
    });
    const first = await service.propose();
    await service.propose({ target: "limits.rows", proposer: "ana" });
    const anybody = await open();
    const ana = await open(ANA);
    for (const place of PAGES) {
      await visit(anybody, service.url, place);
      await titled(anybody, "(2) ");
      await visit(ana, service.url, place);
      // Nobody approves their own.
      await titled(ana, "(1) ");
      expect(await ana.title()).toMatch(/^\(1\) .+ · Countersign$/);
    }
    await visit(ana, service.url, "audit");
    await service.post("api/product/approve", { change_id: first, approver: "ana" });
    await ana.waitForFunction(() => document.title === "Audit · Countersign");
    await titled(anybody, "(1) ");
    await visit(ana, service.url, "");
    await ana.waitForFunction(() => document.title === "Inbox · Countersign");
    await service.propose({ target: "limits.columns" });
    await titled(ana, "(1) Inbox");
  });

  test("the inbox needs no further request for the count", async () => {
    const service = await startService();
    await service.propose();
    const page = await open(ANA);
    const asked: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/api/inbox")) asked.push(request.url());
    });
    await withoutNews(page);
    await visit(page, service.url, "");
    await titled(page, "(1) Inbox");
    expect(asked).toHaveLength(1);
  });
});
