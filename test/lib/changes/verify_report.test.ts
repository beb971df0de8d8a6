/** Reports of audit verification, with and without a receipt. */
import { makeAnchor } from "../../support/anchor.ts";
import { expect, test } from "vitest";
import { storeCurrentCheckpoint } from "../../../lib/audit/checkpoint.ts";
import { verifyReport } from "../../../lib/changes/verify_report.ts";
import { verifyAgainstAnchor } from "../../../lib/audit/verify_against_anchor.ts";
import { verifyChain } from "../../../lib/audit/verify.ts";
import { readLeaves, lengthen, makeLog } from "../audit/synthetic_log.ts";

test("a receipt written during a pass is verified without a second pass", async () => {
  const deps = await makeLog(2500);
  const reads: number[] = [];
  const { store } = deps;
  deps.store = {
    ...store,
    list: (collection, options) => {
      if (collection === "audit") reads.push(options.limit);
      return store.list(collection, options);
    },
  };
  const running = verifyChain(deps);
  // Lets the pass read its first page.
  await new Promise((resolve) => setTimeout(resolve));
  await lengthen(deps, 1);
  const head = (await readLeaves({ ...deps, store })).at(-1)!;
  const byLength = verifyReport(deps, { expected_length: 2501, expected_head: head });
  const byHead = verifyReport(deps, { expected_head: head });
  expect(await running, "the pass began before").toMatchObject({ length: 2500 });
  expect(await byLength).toMatchObject({ valid: true, length: 2501, reason: null });
  expect(await byHead).toMatchObject({ valid: true, length: 2501, reason: null });
  // One pass of ten pages over the 2,500 entries, then only the new entry.
  expect(reads.slice(0, 11)).toEqual([...Array.from({ length: 10 }, () => 250), 1]);
});

test("a receipt stays valid for its entry while the log grows", async () => {
  const deps = await makeLog(8);
  const [, , third, fourth] = await readLeaves(deps);
  expect(await verifyReport(deps, { expected_length: 3, expected_head: third })).toMatchObject({
    valid: true,
    not_checked: [],
  });
  expect(await verifyReport(deps, { expected_length: 3, expected_head: fourth })).toMatchObject({
    valid: false,
    first_invalid: 3,
    reason: expect.stringContaining("rewritten"),
  });
});

test("a log that contradicts its anchor is not valid, even if its chain is", async () => {
  const deps = await makeLog(10);
  // The anchor has a checkpoint of 12 entries, and the log has 10.
  const anchored = (await storeCurrentCheckpoint(deps)).note.replace("\n10\n", "\n12\n");
  await verifyAgainstAnchor({ ...deps, anchor: makeAnchor(anchored) });
  expect(await verifyReport(deps, {})).toMatchObject({
    valid: false,
    length: 10,
    first_invalid: 11,
    reason: expect.stringContaining("against the anchor"),
    state: null,
  });
});

test("a receipt of the empty log checks nothing, and a length alone checks for truncation", async () => {
  const deps = await makeLog(3);
  const emptyReceipt = { expected_length: 0, expected_head: "0".repeat(64) };
  expect(await verifyReport(deps, emptyReceipt)).toMatchObject({
    valid: true,
    not_checked: ["tail_truncation", "full_rewrite"],
  });
  expect(await verifyReport(deps, { expected_length: 1 })).toMatchObject({ not_checked: ["full_rewrite"] });
});
