/** What is on record: a late note closes a gap, and a week's picture is seen as one. */
import { describe, expect, test } from "vitest";
import { seriousOn } from "./axe.ts";
import { button, startBrowser, useWindows, visit } from "./browser.ts";
import { startService, TOKEN } from "./service.ts";

const browser = await startBrowser();

describe.skipIf(!browser)("what is on record", () => {
  const open = useWindows(browser);

  test("a rationale that is missing is said late, once, and shows as late, with who said it", async () => {
    const service = await startService();
    const id = await service.propose({ rationale: "" });
    const page = await open({ name: "bo", token: TOKEN });
    await visit(page, service.url, `changes/${id}`);
    expect(await button(page, "Add a late rationale…").count(), "while it waits nothing is late").toBe(0);
    await service.post("api/product/deny", { change_id: id, approver: "ana", note: "not now" });

    await button(page, "Add a late rationale…").click();
    expect(await button(page, "Add a late note…").count(), "the denial has one").toBe(0);
    const dialog = page.getByRole("dialog");
    expect(await seriousOn(page, "the late rationale")).toEqual([]);
    await dialog.getByLabel("Rationale").fill("Support asked for it.\n<b>Twice</b>");
    await button(page, "Add a late rationale").click();
    await page.getByText("bo added a late rationale.").waitFor();
    await page.getByText("Said late, by bo").waitFor();
    await button(page, "Add a late rationale…").waitFor({ state: "detached" });
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("H1");
    expect((await service.get(`api/product/changes/${id}`)).late_notes).toMatchObject([
      { item: "rationale", note: "Support asked for it.\n<b>Twice</b>", actor: "bo" },
    ]);
    expect(await seriousOn(page, "the change")).toEqual([]);
  });

  test.each([
    ["light", 1440],
    ["dark", 360],
  ] as const)("a report's picture is drawn above its text, %s, %s pixels wide", async (theme, width) => {
    const service = await startService();
    await service.post("api/product/kpi", { nrr_quarterly: "1.04" });
    const { result } = await service.post("api/action/run-now", { action: "write_report" });
    const page = await open({
      name: "bo",
      token: TOKEN,
      colorScheme: theme === "light" ? "dark" : "light",
      viewport: { width, height: 900 },
    });
    await visit(page, service.url, "system");
    await page.evaluate((chosen) => void (document.documentElement.dataset["theme"] = chosen), theme);
    await button(page, result.files[0]).click();
    const picture = page.getByRole("img", { name: /^The 8 weeks up to .* 1 KPI with the applies/ });
    await picture.waitFor();
    const { natural, ground } = await picture.evaluate((seen: HTMLImageElement) => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [4, 4];
      const drawing = canvas.getContext("2d")!;
      drawing.drawImage(seen, 0, 0, seen.naturalWidth, seen.naturalHeight, 0, 0, 4 * 100, 4 * 100);
      return { natural: seen.naturalWidth, ground: [...drawing.getImageData(0, 0, 1, 1).data.slice(0, 3)] };
    });
    expect(natural).toBe(720);
    expect(ground).toEqual(theme === "light" ? [255, 255, 255] : [26, 30, 37]);
    expect((await picture.boundingBox())!.width, "as small as it can be read").toBeGreaterThan(570);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    expect(await seriousOn(page, "the report")).toEqual([]);
  });
});
