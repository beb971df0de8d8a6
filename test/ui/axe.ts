/** Accessibility checks of a page with axe. */
import axe from "axe-core";
import type { Page } from "playwright-core";

/** Returns the violations of all rules, or only of `rules`; `pageName` is part of each message. */
export async function findViolations(page: Page, pageName: string, rules?: string[]) {
  // axe stays in the page until the next load.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const found = await page.evaluate(async (runOnly) => {
    const { axe: inPage } = globalThis as unknown as { axe: typeof axe };
    const { violations } = await inPage.run({ resultTypes: ["violations"], ...(runOnly && { runOnly }) });
    return violations.map(({ id, impact, nodes }) => ({ id, impact, html: nodes[0]?.html.slice(0, 160) }));
  }, rules);
  return found.map(({ id, impact, html }) => ({ impact, message: `${pageName}: ${id} ${html}` }));
}

/** Returns the messages of the violations that are serious or critical. */
export async function findSerious(page: Page, pageName: string, rules?: string[]): Promise<string[]> {
  const found = await findViolations(page, pageName, rules);
  return found.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ message }) => message);
}
