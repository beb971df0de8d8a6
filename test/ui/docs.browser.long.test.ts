/** The page of the API in a browser: it fits wide and narrow windows and breaks no words. */
import { describe, expect, test } from "vitest";
import { makeIntent } from "../support/intents.ts";
import { renderPage } from "../../lib/openapi/page.ts";
import { makeTestDocument } from "../lib/openapi/test_documents.ts";
import { startBrowser } from "./browser.ts";

const browser = await startBrowser();
const PAGE = renderPage(makeTestDocument({ product: { ...makeIntent(), identity: {} as never } }));

/** Returns how many pixels the page overflows the window, and the words outside examples that are broken. Runs in the page. */
function measureLayout(): { overflow: number; broken: string[] } {
  const broken: string[] = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    if (text.parentElement!.closest("pre")) continue;
    for (const { 0: word, index } of text.textContent!.matchAll(/\w{2,}/g)) {
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) broken.push(word);
    }
  }
  return { overflow: document.documentElement.scrollWidth - innerWidth, broken };
}

describe.skipIf(!browser)("the page of the API", () => {
  test.each([1280, 390])("fits the window and breaks no word at %i px", async (width) => {
    const page = await browser!.newPage({ viewport: { width, height: 900 } });
    try {
      await page.setContent(PAGE);
      expect(await page.evaluate(measureLayout)).toEqual({ overflow: 0, broken: [] });
      await page.addStyleTag({ content: "td, p { overflow-wrap: anywhere; max-width: 3rem }" });
      expect((await page.evaluate(measureLayout)).broken, "a broken word would be found").not.toEqual([]);
    } finally {
      await page.close();
    }
  });
});
