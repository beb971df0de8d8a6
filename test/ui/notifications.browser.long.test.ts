/** From a notification to a decision, and the count of waiting changes in the window's title. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { addAuthenticator } from "./authenticator.ts";
import { button, PAGES, startBrowser, useWindows, visit, blockUpdates } from "./browser.ts";
import { INTENT, startService, TOKEN } from "./service.ts";
import {
  countInputs,
  readDecisions,
  enrolPasskey,
  localhostUrl,
  INTENT_WITHOUT_KEYS,
  restart,
  makeSigningIntent,
} from "./signing.ts";

const browser = await startBrowser();
const ANA = { name: "ana", token: TOKEN };

/** A message in Slack's format. */
interface Message {
  text: string;
  blocks: { type: string; elements?: { url?: string }[] }[];
}

/** Starts a stand-in for an incoming webhook of Slack; `next` resolves with the next message. */
async function startSlackWebhook() {
  const messages: Message[] = [];
  let notifyWaiter = () => {};
  const server = createServer(async (request, response) => {
    messages.push(JSON.parse(await text(request)));
    response.end("ok");
    notifyWaiter();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  let readCount = 0;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/services/T0/B0/x`,
    async next(): Promise<Message> {
      while (messages.length <= readCount) await new Promise<void>((resolve) => (notifyWaiter = resolve));
      return messages[readCount++]!;
    },
  };
}

const findButtonUrl = ({ blocks }: Message): string => blocks.flatMap(({ elements = [] }) => elements).at(-1)!.url!;

describe.skipIf(!browser)("from a notification to a decision", () => {
  const open = useWindows(browser);

  test("a message in Slack leads to a signed decision with a link, one click and one tap", async () => {
    const channel = await startSlackWebhook();
    const before = await startService({ intent: INTENT_WITHOUT_KEYS });
    const page = await open(ANA);
    const device = await addAuthenticator(page);
    const service = await restart(before, {
      intent: makeSigningIntent(await enrolPasskey(page, before)),
      args: ["--notify-format=slack", `--public-url=${localhostUrl(before)}`],
      env: { SVC_NOTIFY_URL: channel.url },
    });
    const countedInputs = await countInputs(page);

    const proposedAt = performance.now();
    const id = await service.propose({ affected_users: "96000", risk: "high", tier: "major" });
    const message = await channel.next();
    const sentAt = performance.now();
    expect(message.text).toContain(
      "pat proposes “Raise the limit” (limits.uploads for tenant t1); high risk, reaches 96,000 people; still missing: ",
    );
    expect(message.text).toContain("ana");
    await page.goto(findButtonUrl(message));
    await page.reload();
    await button(page, "Approve with your key").waitFor();
    const shownAt = performance.now();
    await button(page, "Approve with your key").click();
    await page.getByText("Your consent is recorded.").waitFor();
    const decidedAt = performance.now();

    const [decision, ...others] = await readDecisions(service, id);
    expect(others).toEqual([]);
    expect(decision).toMatchObject({ approver: "ana", decision: "approved", authenticated: "signature" });
    const inputs = { ...(await countedInputs()), taps: device.countSignatures() };
    expect(inputs).toEqual({ clicks: 1, keys: 0, taps: 1 });
    expect((await channel.next()).text).toMatch(/ana/);
    const ms = (from: number, to: number) => `${Math.round(to - from)} ms`;
    process.stderr.write(
      `from message to decision: 1 link, ${inputs.clicks} click, ${inputs.keys} keys, ${inputs.taps} tap; sent after ${ms(proposedAt, sentAt)}, page ready after ${ms(sentAt, shownAt)} more, signed after ${ms(shownAt, decidedAt)} more\n`,
    );
  });

  /** Waits until the window's title begins with a count. */
  const waitForTitle = (page: Page, count: string): Promise<unknown> =>
    page.waitForFunction((begin) => document.title.startsWith(begin), count);

  test("on each page the title counts the changes that wait for the user, and is updated", async () => {
    const service = await startService({
      intent: { ...INTENT, policy: { ...INTENT.policy, approvers: ["ana", "bo"] } },
    });
    const first = await service.propose();
    await service.propose({ target: "limits.rows", proposer: "ana" });
    const unnamed = await open();
    const ana = await open(ANA);
    for (const path of PAGES) {
      await visit(unnamed, service.url, path);
      await waitForTitle(unnamed, "(2) ");
      await visit(ana, service.url, path);
      // Ana cannot approve her own proposal.
      await waitForTitle(ana, "(1) ");
      expect(await ana.title()).toMatch(/^\(1\) .+ · Countersign$/);
    }
    await visit(ana, service.url, "audit");
    await service.post("api/product/approve", { change_id: first, approver: "ana" });
    await ana.waitForFunction(() => document.title === "Audit · Countersign");
    await waitForTitle(unnamed, "(1) ");
    await visit(ana, service.url, "");
    await ana.waitForFunction(() => document.title === "Inbox · Countersign");
    await service.propose({ target: "limits.columns" });
    await waitForTitle(ana, "(1) Inbox");
  });

  test("the inbox needs no additional request for the count", async () => {
    const service = await startService();
    await service.propose();
    const page = await open(ANA);
    const requested: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/api/inbox")) requested.push(request.url());
    });
    await blockUpdates(page);
    await visit(page, service.url, "");
    await waitForTitle(page, "(1) Inbox");
    expect(requested).toHaveLength(1);
  });
});
