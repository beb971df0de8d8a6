/** Regression tests of faults that users found, with the same widths, values and numbers of changes. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { findViolations } from "./axe.ts";
import { PAGES, startBrowser, useWindows, visit, blockUpdates } from "./browser.ts";
import { type Service, startService, TOKEN } from "./service.ts";

const ANA = { name: "ana", token: TOKEN };
const WIDTHS = [1280, 1440, 1920];
/** Number of approved changes, which are older than the waiting ones and more than one page of the list. */
const APPROVED_COUNT = 41;

const browser = await startBrowser();
let service: Service;
let longValueId: string;

describe.skipIf(!browser)("faults that users found", () => {
  const open = useWindows(browser);
  beforeAll(async () => {
    service = await startService();
    longValueId = await createChanges(service);
  });

  test("three irreversible waiting changes are listed before older approved ones", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "");
    const waits = page.getByRole("region", { name: "Waits for you" });
    expect(await waits.getByRole("link").allInnerTexts()).toEqual(
      expect.arrayContaining(["Delete one", "Delete two", "Delete three"]),
    );
    // The fourth is the change with a long value.
    expect(await page.locator(".lead").innerText()).toMatch(/^4 changes wait for your consent\.$/);
    const first = waits.getByRole("listitem").first();
    expect(await first.locator(".mark.warn").allInnerTexts()).toEqual([
      "High risk",
      "Cannot be undone",
      "90,000 people",
    ]);
  });

  test("no row of the inbox moves when later responses arrive", async () => {
    await service.propose({ target: "limits.own", summary: "Own", proposer: "ana" });
    const page = await open({ ...ANA, viewport: { width: 390, height: 844 } });
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route("**/api/find?*", async (route) => {
      await released;
      await route.continue();
    });
    await visit(page, service.url, "");
    const first = page.locator("article.row").first();
    const before = (await first.boundingBox())!.y;
    release();
    await page.getByRole("heading", { name: "Your proposals" }).waitFor();
    expect((await first.boundingBox())!.y).toBe(before);
    const cutSentences = page
      .locator(".row-words")
      .evaluateAll((all) => all.filter((sentence) => sentence.scrollHeight > sentence.clientHeight));
    expect(await cutSentences, "no sentence is cut off").toEqual([]);
  });

  test("a value of 6.5 KB scrolls in its own box and does not stretch the page", async () => {
    const page = await open(ANA);
    await visit(page, service.url, `changes/${longValueId}`);
    await page.locator(".diff .line").first().waitFor();
    const { lines, pageHeight, contentHeight } = await page.evaluate(() => ({
      lines: document.querySelectorAll(".diff .line").length,
      pageHeight: document.documentElement.scrollHeight,
      contentHeight: document.querySelector("#app")!.getBoundingClientRect().height,
    }));
    expect(lines).toBeGreaterThan(200);
    expect(pageHeight, "nothing reaches below the content").toBeLessThanOrEqual(Math.ceil(contentHeight));
  });

  test("two changed lines of 3,502 are shown with their changed words, the others are folded", async () => {
    const numbers = Array.from({ length: 3500 }, (_, n) => n);
    const makeValue = (ninth: string, last: number) => JSON.stringify(numbers.with(9, ninth as never).with(3000, last));
    const before = await service.propose({ target: "mail.texts", value: makeValue("for 9 days", 3000) });
    await service.post("api/product/approve", { change_id: before, approver: "bo" });
    await service.post("api/product/apply", { change_id: before });
    const id = await service.propose({ target: "mail.texts", value: makeValue("for 4 days", 7) });
    const page = await open({ ...ANA, viewport: { width: 390, height: 844 } });
    await page.addInitScript(countComparisons);
    await visit(page, service.url, `changes/${id}`);
    const diff = page.locator(".diff").first();
    await diff.locator(".line.after").first().waitFor();
    await page.getByText("The host product was asked").waitFor();
    // An update of the page that leaves the value as it is must not compare the texts again.
    const read = page.waitForResponse((response) => response.url().includes(`/changes/${id}`));
    await service.post("api/product/approve", { change_id: id, approver: "bo" });
    await read;
    await page.getByText("Approved, not applied").first().waitFor();
    await page.getByText("The host product was asked").waitFor();
    const compared = await page.evaluate(() => (globalThis as unknown as { compared: number }).compared);
    expect(compared, "once against the record and once against the host product, also after the update").toBe(2);
    expect(await page.locator("*").count(), "elements of the page").toBeLessThan(900);
    expect(await page.locator(".changed-paths").first().getByRole("listitem").allInnerTexts()).toEqual([
      '[9] "for 9 days" → "for 4 days"',
      "[3000] 3000 → 7",
    ]);
    expect(await diff.locator("mark").allInnerTexts()).toEqual(["9", "4"]);
    // Both changed lines are shown before and after, with three unchanged lines on each side.
    expect(await diff.locator(".line").count()).toBe(16);
    const gap = diff.getByRole("button", { name: "Show 2,984 unchanged lines" });
    const size = await diff.evaluate((box) => [box.scrollHeight - box.clientHeight, box.scrollWidth - box.clientWidth]);
    expect(size, "nothing is cut off").toEqual([0, 0]);
    expect(await findViolations(page, "a long value")).toEqual([]);
    await gap.click();
    expect(await diff.locator(".line").count()).toBe(3000);

    // These figures decide whether the page opens within a second at a quarter of the speed; the time itself is only printed.
    const slow = await open(ANA);
    const session = await slow.context().newCDPSession(slow);
    await session.send("Emulation.setCPUThrottlingRate", { rate: 4 });
    await slow.addInitScript(countComparisons);
    await slow.addInitScript(recordFirstDiff);
    await slow.goto(`${service.url}/#/changes/${id}`);
    await slow.locator(".diff .line.after").first().waitFor();
    const firstDiff = await slow.evaluate(() => (globalThis as unknown as { firstDiff: FirstDiff }).firstDiff);
    process.stdout.write(`3,502 lines at a quarter of the speed: shown after ${Math.round(firstDiff.at)} ms\n`);
    expect(firstDiff.comparisons, "before the first difference is shown").toBe(1);
    expect(firstDiff.elements).toBeLessThan(900);
    expect(firstDiff.requests.length, firstDiff.requests.join()).toBeLessThanOrEqual(8);
  });

  test.each(WIDTHS)("at %i px no word of the interface is broken in the tables", async (width) => {
    const page = await open({ ...ANA, viewport: { width, height: 900 } });
    for (const path of ["audit", `changes/${longValueId}`, "kpis"]) {
      await visit(page, service.url, path);
      expect(await page.evaluate(findBrokenWords), `${path} at ${width}`).toEqual([]);
    }
    await page.evaluate(() => {
      const narrow = new CSSStyleSheet();
      narrow.replaceSync(
        "table { table-layout: fixed; width: 10rem } td * { white-space: normal; overflow-wrap: anywhere }",
      );
      document.adoptedStyleSheets = [narrow];
    });
    expect(await page.evaluate(findBrokenWords), "a broken word would be found").not.toEqual([]);
  });

  test.each(WIDTHS)("at %i px an id stays on one line while its change's name is loading", async (width) => {
    const page = await open({ ...ANA, viewport: { width, height: 900 } });
    // The query for the names of all changes that were ever applied gets no answer.
    await page.route(/api\/find.*2000-01-01/, () => undefined);
    await visit(page, service.url, "kpis");
    await page.getByRole("link", { name: "chg_…" }).first().waitFor();
    expect(await page.evaluate(findBrokenWords)).toEqual([]);
  });

  test("a focused field has exactly one visible frame in both themes", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await open({ ...ANA, colorScheme });
      await visit(page, service.url, "audit");
      for (const label of ["Event", "Tenant"]) {
        await page.getByLabel(label).focus();
        expect(await page.evaluate(findFocusFrames), `${label}, ${colorScheme}`).toEqual([label]);
      }
      await visit(page, service.url, "changes");
      await page.getByRole("link", { name: "Propose a change" }).focus();
      await page.keyboard.press("Shift+Tab");
      await page.keyboard.press("Tab");
      expect(await page.evaluate(findFocusFrames), "a button is framed too").toEqual(["Propose a change"]);
    }
  });

  test("each landmark has its own name", async () => {
    const page = await open(ANA);
    const found: string[] = [];
    for (const path of PAGES) {
      await visit(page, service.url, path);
      found.push(...(await findViolations(page, path, ["landmark-unique"])).map(({ message }) => message));
    }
    expect(found).toEqual([]);
  });

  test("the inbox shows waiting changes after three requests and loads the rest later", async () => {
    const page = await open(ANA);
    const requested = collectApiPaths(page);
    await blockUpdates(page);
    await page.addInitScript(() => {
      const requested: string[] = [];
      const send = globalThis.fetch;
      globalThis.fetch = (input, init) => {
        requested.push(new URL(input instanceof Request ? input.url : input, location.href).pathname);
        return send(input, init);
      };
      const observer = new MutationObserver(() => {
        if (!document.querySelector("article.row")) return;
        observer.disconnect();
        Object.assign(globalThis, { requestedFirst: [...requested] });
      });
      observer.observe(document, { subtree: true, childList: true });
    });
    await visit(page, service.url, "");
    const first = await page.evaluate(() => (globalThis as unknown as { requestedFirst: string[] }).requestedFirst);
    const requestedBefore = first.flatMap((path) => apiPath(path) ?? []);
    expect(requestedBefore.toSorted()).toEqual(["inbox", "state", "whoami"]);
    await expect.poll(() => [...new Set(requested)].toSorted()).toEqual(["find", "inbox", "state", "whoami"]);
  });

  test("a proposer is warned of open changes for the same tenant only", async () => {
    await service.propose({ tenant_id: "t9", target: "limits.shared", summary: "Somebody else's" });
    const page = await open(ANA);
    await visit(page, service.url, "propose");
    await page.getByLabel("Target").fill("limits.shared");
    const answered = (tenant: string) =>
      page.waitForResponse((response) => response.url().includes(`tenant_id=${tenant}`));
    const forT1 = answered("t1");
    await page.getByLabel("Tenant").fill("t1");
    await (await forT1).finished();
    expect(await page.getByText(/on this target/).count()).toBe(0);
    const forT9 = answered("t9");
    await page.getByLabel("Tenant").fill("t9");
    await forT9;
    await page.getByText("1 change on this target is under way for this tenant:").waitFor();
    await page.getByRole("link", { name: "Somebody else's" }).waitFor();
    await page.getByLabel("Tenant").fill("t1");
    await page.getByText(/on this target/).waitFor({ state: "detached" });
  });

  test("figures and fields explain themselves to a new user", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "settings");
    await page.getByText(/^Need: \d+%, less is better$/).waitFor();
    await page.getByLabel("Theme").waitFor();
    await visit(page, service.url, "changes");
    await page.getByText("Words and terms such as is:pending").waitFor();
  });

  test("figures use the browser's locale, and an unknown locale breaks nothing", async () => {
    const page = await open({ ...ANA, locale: "de-DE" });
    await visit(page, service.url, "kpis");
    expect(await page.getByRole("region", { name: "KPIs", exact: true }).innerText()).toContain("1,01");
    const withUnknownLocale = await open(ANA);
    await withUnknownLocale.addInitScript(() => {
      Object.defineProperty(navigator, "language", { value: "en-US@posix", configurable: true });
      Object.defineProperty(navigator, "languages", { value: ["en-US@posix"] });
    });
    await visit(withUnknownLocale, service.url, "kpis");
    await withUnknownLocale.locator(".plot .series").waitFor();
  });

  test("a printed change has its history and proof in full, and no buttons", async () => {
    const page = await open({ ...ANA, colorScheme: "dark" });
    await visit(page, service.url, `changes/${longValueId}`);
    await page.getByText("it matches the entry").waitFor();
    await page.getByText("The host product was asked").waitFor();
    await page.emulateMedia({ media: "print" });
    expect(await page.locator(".diff").first().isVisible(), "the changes").toBe(true);
    for (const shown of ["Changes", "Gates", "History", "Verification"])
      expect(await page.getByRole("heading", { name: shown }).isVisible(), shown).toBe(true);
    expect(await page.locator("button:visible, nav:visible").count()).toBe(0);
    const { diff, ground } = await page.evaluate(() => {
      const box = document.querySelector(".diff")!;
      return { diff: [box.clientHeight, box.scrollHeight], ground: getComputedStyle(document.body).backgroundColor };
    });
    expect(diff[0], "no line is cut off").toBe(diff[1]);
    expect(ground).toBe("rgb(255, 255, 255)");
  });

  test("with forced colours the open page and the selected item are still outlined", async () => {
    const page = await open({ ...ANA, forcedColors: "active" });
    await visit(page, service.url, "kpis");
    for (const chosen of ['.side nav [aria-current="page"]', 'tr[aria-current="true"]'])
      expect(await page.locator(chosen).evaluate((element) => getComputedStyle(element).outlineStyle), chosen).toBe(
        "solid",
      );
  });
});

/** Creates many approved changes, two applied ones, three risky ones and one with a long value; returns the id of the last. */
async function createChanges({ post, propose }: Service): Promise<string> {
  await post("api/product/kpi", { nrr_quarterly: "1.02", incident_rate: "0.04" });
  const approve = (change_id: string) => post("api/product/approve", { change_id, approver: "bo" });
  for (let index = 0; index < APPROVED_COUNT; index++)
    await approve(await propose({ target: `limits.old_${index}`, summary: `Old ${index}` }));
  const applied = { kpi: "nrr_quarterly", expected_delta_k: "0.02", summary: "Applied" };
  for (const target of ["onboarding.short_form", "limits.flow"]) {
    const change_id = await propose({ ...applied, target });
    await approve(change_id);
    await post("api/product/apply", { change_id });
  }
  await post("api/product/kpi", { nrr_quarterly: "1.01", incident_rate: "0.05" });
  for (const name of ["one", "two", "three"])
    await propose({
      target: `data.${name}`,
      summary: `Delete ${name}`,
      risk: "high",
      reversible: "false",
      affected_users: "90000",
    });
  const entries = Object.fromEntries(Array.from({ length: 260 }, (_, index) => [`setting_${index}`, index]));
  return propose({ target: "limits.long", summary: "Many settings", value: JSON.stringify(entries) });
}

/** Collects the API paths that a page requests from now on. */
function collectApiPaths(page: Page): string[] {
  const requested: string[] = [];
  page.on("request", (request) => {
    const apiName = apiPath(new URL(request.url()).pathname);
    if (apiName) requested.push(apiName);
  });
  return requested;
}

/** Returns the path below /api/, unless it is the event stream or the identity probe. */
const apiPath = (path: string): string | undefined => /^\/api\/(?!(?:events|product\/identity)$)(.+)$/.exec(path)?.[1];

/** Counts comparisons of long texts: each comparison splits two texts into lines. Runs in the page. */
function countComparisons(): void {
  const counter = Object.assign(globalThis, { compared: 0 });
  const splitText = String.prototype.split;
  // oxlint-disable-next-line no-extend-native -- only in this page
  String.prototype.split = function (this: string, by: unknown, limit?: number) {
    if (by === "\n" && this.length > 10_000) counter.compared += 0.5;
    return splitText.call(this, by as never, limit);
  };
}

/** Returns the words of the interface in tables that are broken over two lines. Runs in the page. */
function findBrokenWords(): string[] {
  const broken: string[] = [];
  for (const table of document.querySelectorAll("table")) {
    const texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      if (text.parentElement!.closest("pre, bdi, code")) continue;
      for (const { 0: word, index } of text.textContent!.matchAll(/[^\s–-]{2,}/g)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) broken.push(word);
      }
    }
  }
  return broken;
}

/** Returns the labels of the focused element and its ancestors that have a frame: an outline or a shadow. Runs in the page. */
function findFocusFrames(): string[] {
  const found: string[] = [];
  for (let node: Element | null = document.activeElement; node && node !== document.body; node = node.parentElement) {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(node);
    const isFramed = (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2) || /0px 0px 0px \d/.test(boxShadow);
    if (isFramed) found.push((node as HTMLInputElement).labels?.[0]?.textContent ?? node.textContent);
  }
  return found;
}

/** State of a page when its first difference appears; `at` in milliseconds since the navigation. */
interface FirstDiff {
  at: number;
  comparisons: number;
  elements: number;
  requests: string[];
}

/** Records the state of the page when its first difference appears. Runs in the page. */
function recordFirstDiff(): void {
  const page = globalThis as unknown as { firstDiff: FirstDiff; compared: number };
  const observer = new MutationObserver(() => {
    if (!document.querySelector(".diff .line.after")) return;
    observer.disconnect();
    page.firstDiff = {
      at: performance.now(),
      comparisons: page.compared,
      elements: document.querySelectorAll("*").length,
      requests: performance.getEntriesByType("resource").flatMap(({ name }) => (name.includes("/api/") ? name : [])),
    };
  });
  observer.observe(document, { subtree: true, childList: true });
}
