/** Checks a page with axe for people who cannot see it, point at it or distinguish its colours. */
import axe from "axe-core";
import type { Page } from "playwright-core";

/** Returns the findings of all or of these rules; `place` names the page in the answer. */
export async function findViolations(page: Page, place: string, rules?: string[]) {
  // It stays in the page until that is loaded again.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const found = await page.evaluate(async (runOnly) => {
    const { axe: inPage } = globalThis as unknown as { axe: typeof axe };
    const { violations } = await inPage.run({ resultTypes: ["violations"], ...(runOnly && { runOnly }) });
    return violations.map(({ id, impact, nodes }) => ({ id, impact, html: nodes[0]?.html.slice(0, 160) }));
  }, rules);
  return found.map(({ id, impact, html }) => ({ impact, said: `${place}: ${id} ${html}` }));
}

/** Returns the findings that are serious or worse. */
export async function findSerious(page: Page, place: string, rules?: string[]): Promise<string[]> {
  const found = await findViolations(page, place, rules);
  return found.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ said }) => said);
}
