/** The console at every width, in both themes, by keyboard alone, and with hostile text in the records. */
import { writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { findSerious } from "./axe.ts";
import { button, PAGES, waitForShortcuts, startBrowser, useWindows, visit } from "./browser.ts";
import { type Service, startService, TOKEN } from "./service.ts";

const IMAGE = `<img src=x onerror="window.hacked=1">`;
/** U+202E reverses the following text, so that this reads as another file's name. */
const REVERSED = "invoice\u202Efdp.exe";
const LONG_TEXT = `${IMAGE} ${REVERSED} ${"wide".repeat(2000)}`;
const ANA = { name: "ana", token: TOKEN };

const browser = await startBrowser();
let service: Service;
let hostile: { pending: string; applied: string; denied: string };

describe.skipIf(!browser)("the accessible console", () => {
  const open = useWindows(browser);
  beforeAll(async () => {
    service = await startService();
    hostile = await fillWithHostileText(service);
  });

  const listPaths = () => [...PAGES, "you", ...Object.values(hostile).map((id) => `changes/${id}`)];

  /** Returns the serious violations on all pages and in two dialogs, by all rules or only by `rules`. */
  const findSeriousEverywhere = async (page: Page, rules?: string[]): Promise<string[]> => {
    const found: string[] = [];
    for (const path of listPaths()) {
      await visit(page, service.url, path);
      found.push(...(await findSerious(page, path || "inbox", rules)));
    }
    await page.keyboard.press("?");
    found.push(...(await findSerious(page, "help", rules)));
    await page.keyboard.press("Escape");
    await visit(page, service.url, `changes/${hostile.pending}`);
    await button(page, "Approve…").click();
    found.push(...(await findSerious(page, "decision", rules)));
    return found;
  };

  test.each([
    [1440, 900, "light"],
    [1440, 900, "dark"],
    [390, 844, "light"],
  ] as const)("axe finds nothing serious on any page at %i by %i, %s", async (width, height, colorScheme) => {
    const page = await open({ ...ANA, viewport: { width, height }, colorScheme });
    // A theme only changes colours.
    expect(
      await findSeriousEverywhere(page, colorScheme === "dark" ? ["color-contrast", "link-in-text-block"] : undefined),
    ).toEqual([]);
  });

  test.each(["light", "dark"] as const)("axe finds nothing serious in the open menu, %s", async (colorScheme) => {
    const page = await open({ ...ANA, viewport: { width: 360, height: 800 }, colorScheme });
    await visit(page, service.url, "");
    await button(page, "Menu").click();
    expect(await findSerious(page, "menu")).toEqual([]);
    await page.getByRole("link", { name: "Audit" }).click();
    await page.getByRole("heading", { name: "Entries" }).waitFor();
    expect(await page.locator("nav[aria-label=Pages]").first().isVisible(), "the menu has closed").toBe(false);
    expect(await findSerious(page, "audit")).toEqual([]);
  });

  test.each([360, 1440])(
    "at %i pixels nothing overflows or moves, and hostile text is shown as text",
    async (width) => {
      const page = await open({ ...ANA, viewport: { width, height: 800 } });
      await page.addInitScript(recordShifts);
      const overflowing: string[] = [];
      const shifted: string[] = [];
      for (const path of [...listPaths(), "changes?q=users:40+group:proposer", `changes/${hostile.pending}`]) {
        // Starts from another document, so that the page is loaded again.
        await page.goto(new URL("icon.svg", service.url).href);
        await page.goto(new URL(`#/${path}`, service.url).href);
        await visit(page, service.url, path);
        const { overflow, images, hacked, shifts } = await page.evaluate(() => ({
          overflow: document.documentElement.scrollWidth - innerWidth,
          images: document.images.length,
          hacked: "hacked" in globalThis,
          shifts: (globalThis as unknown as { shifts: Shift[] }).shifts,
        }));
        const shift = shifts.reduce((sum, { value }) => sum + value, 0);
        if (shift > MAX_SHIFT)
          shifted.push(`${path}: ${shift.toFixed(3)} ${shifts.map(({ elements }) => elements).join("; ")}`);
        expect({ images, hacked }, path).toEqual({ images: 0, hacked: false });
        if (overflow > 0) overflowing.push(`${path}: ${overflow}`);
      }
      await button(page, "Deny…").click();
      const dialog = (await page.getByRole("dialog").boundingBox())!;
      expect([dialog.x >= 0, dialog.x + dialog.width <= width], "the dialog fits").toEqual([true, true]);
      expect(overflowing).toEqual([]);
      expect(shifted, "layout shift").toEqual([]);
    },
  );

  test("user text is shown unchanged, and characters that turn its direction are named", async () => {
    const page = await open(ANA);
    await visit(page, service.url, `changes/${hostile.denied}`);
    const heading = page.locator("h1");
    expect(await heading.innerText()).toContain(IMAGE);
    expect(await page.locator(".change-head bdi").count()).toBeGreaterThanOrEqual(3);
    const rationale = page.locator(".prose").first();
    expect(await rationale.innerText()).toContain(`${IMAGE} invoiceU+202Efdp.exe`);
    expect(await rationale.getAttribute("dir")).toBe("auto");
    await page.getByText("Show all 4,000 characters").first().click();
    expect((await rationale.innerText()).length).toBeGreaterThanOrEqual(4000);
    expect(await page.title()).toContain("\u2068");
  });

  test("a chat question of 8,000 hostile characters is shown as text", async () => {
    const page = await open(ANA);
    await visit(page, service.url, "settings");
    await page.keyboard.press("/");
    await page.getByLabel("A change or a page").fill(LONG_TEXT.slice(0, 8000));
    await button(page, "Ask the service").click();
    await page.getByText(/memor(y was|ies were) used/).waitFor();
    expect(await page.evaluate(() => ["hacked" in globalThis, document.images.length])).toEqual([false, 0]);
  });

  test("the theme follows the system until one is chosen", async () => {
    const page = await open({ ...ANA, colorScheme: "dark" });
    await visit(page, service.url, "");
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    await page.getByLabel("Theme").selectOption("light");
    await page.waitForFunction((before) => getComputedStyle(document.body).backgroundColor !== before, dark);
    await page.reload();
    await page.locator("h1").waitFor();
    expect(await background()).not.toBe(dark);
  });

  const status = (page: Page) => page.locator(".change-head .mark");
  const readEntries = async (id: string) => (await service.get(`api/product/audit?change_id=${id}`)).entries;

  test("a decision can be made with the keyboard alone, and no single key decides", async () => {
    const id = await service.propose({ target: "limits.keys", summary: "By keys alone" });
    const page = await open({ token: TOKEN });
    await visit(page, service.url, "");
    const focused = () => page.evaluate(() => document.querySelector("a:focus")?.textContent ?? "");
    for (let rows = 0; rows < 20 && !(await focused()).includes("By keys alone"); rows++)
      await page.keyboard.press("j");
    expect(await focused()).toContain("By keys alone");
    await page.keyboard.press("Enter");
    await status(page).waitFor();
    await waitForShortcuts(page);
    expect(page.url()).toContain(id);
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("H1");
    await page.keyboard.press("?");
    await page.getByText("Approve this change", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("a");
    await page.getByRole("dialog").waitFor();
    expect(await readEntries(id), "nothing was decided by the key").toHaveLength(1);
    await page.keyboard.type("cy");
    await page.keyboard.press("Tab");
    await page.keyboard.type("A note with a, d, p and ? in it.");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("Your consent is recorded.").waitFor();
    const [, entry] = await readEntries(id);
    expect(JSON.parse(entry.detail)).toMatchObject({ approver: "cy", note: "A note with a, d, p and ? in it." });
    expect(await page.evaluate(() => document.activeElement === document.body), "the focus is not lost").toBe(false);
    await status(page).getByText("Approved, not applied").waitFor();
    await waitForShortcuts(page);
    await page.keyboard.press("p");
    await page.getByRole("dialog").getByText("Nothing was changed.").waitFor();
    // The focus is on Cancel.
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await readEntries(id), "two keys apply nothing").toHaveLength(2);
  });

  test("single-key shortcuts do nothing in a text field and can be switched off", async () => {
    const page = await open({ token: TOKEN });
    await visit(page, service.url, "changes");
    const field = page.getByRole("combobox", { name: "Query" });
    await field.focus();
    await page.keyboard.type("j/k?");
    expect(await field.inputValue()).toBe("j/k?");
    await field.blur();
    await page.keyboard.press("?");
    await page.getByLabel("Single keys are on").uncheck();
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    expect(await page.getByRole("dialog").count()).toBe(0);
  });

  test("the find dialog opens a change with the arrow keys and Enter", async () => {
    const id = await service.propose({ target: "limits.found", summary: "To be found" });
    const page = await open({ token: TOKEN });
    await visit(page, service.url, "settings");
    await page.keyboard.press("/");
    await page.keyboard.type("to be found");
    await page.getByRole("dialog").getByRole("link", { name: "change limits.found" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/changes/${id}`);
  });
});

/** The largest layout shift that is allowed on a page. */
const MAX_SHIFT = 0.02;

interface Shift {
  value: number;
  elements: string;
}

/** Records layout shifts that no input caused. Runs in the page. */
function recordShifts(): void {
  const shifts: Shift[] = ((globalThis as unknown as { shifts: Shift[] }).shifts = []);
  interface Entry extends PerformanceEntry {
    value: number;
    hadRecentInput: boolean;
    sources: { node: Element | null }[];
  }
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries() as Entry[]) {
      const elements = sources.map(
        ({ node }) => node?.nodeName + "." + node?.className + node?.textContent?.slice(0, 20),
      );
      if (!hadRecentInput) shifts.push({ value, elements: elements.join(", ") });
    }
  }).observe({ type: "layout-shift", buffered: true });
}

/** Fills a service with hostile text in every field: a pending, an applied and a denied change, KPIs and drift. */
async function fillWithHostileText({ post, propose, config }: Service): Promise<typeof hostile> {
  await post("api/product/kpi", { nrr_quarterly: "1.02", incident_rate: "0.04" });
  const text = {
    tenant_id: IMAGE,
    summary: `${IMAGE} ${"x".repeat(450)}`,
    rationale: LONG_TEXT.slice(0, 4000),
    proposer: `pat ${IMAGE}`,
    value: JSON.stringify({ [IMAGE]: LONG_TEXT.slice(0, 2000) }),
    kpi: "nrr_quarterly",
    expected_delta_k: "0.02",
    affected_users: "40",
  };
  const pending = await propose({ ...text, target: "limits.pending", risk: "high", reversible: "false" });
  await post("api/product/approve", { change_id: pending, approver: "bo", note: LONG_TEXT.slice(0, 4000) });
  const applied = await propose({ ...text, target: "limits.applied" });
  await post("api/product/approve", { change_id: applied, approver: "bo", note: IMAGE });
  await post("api/product/apply", { change_id: applied });
  await post("api/product/kpi", { nrr_quarterly: "1.01", incident_rate: "0.05" });
  const denied = await propose({ ...text, target: "limits.denied" });
  await post("api/product/deny", { change_id: denied, approver: "bo", note: LONG_TEXT.slice(0, 4000) });
  writeFileSync(config, "{}");
  await post("api/action/run-now", { action: "check_drift" });
  await post("api/action/run-now", { action: "write_report" });
  await post("api/chat", { message: LONG_TEXT.slice(0, 8000), author: `eve ${IMAGE}` });
  return { pending, applied, denied };
}
