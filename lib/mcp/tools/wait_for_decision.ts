import * as z from "zod";
import { awaitStatus } from "../../changes/await_status.ts";
import { NON_FINAL_STATUSES } from "../../changes/rules/transitions.ts";
import { findWaiterName } from "../../http/address.ts";
import { quote } from "../../kit/quote.ts";
import { changeId, integer, word } from "../../kit/fields.ts";
import { readChangeStatus, changeStatusSchema } from "../change_status.ts";
import { createWaitTask } from "../tasks.ts";
import { createTool } from "../tool.ts";

/** Maximum wait in seconds: the answer must be sent before clients give up after 60 seconds. */
const MAX_WAIT_S = 50;

/** The tool that waits for a decision of people. */
export const waitForDecision = createTool(
  {
    name: "wait_for_decision",
    title: "Wait for a decision",
    description:
      "Waits until people have decided on a change, 50 seconds at most, and answers as get_change does. While `moved` is false, call it again: the change_id is all that is needed, also much later.",
    ownReads: true,
    input: z.strictObject({
      change_id: changeId().describe("Id of the change."),
      seen_status: word(NON_FINAL_STATUSES)
        .default("pending_consent")
        .describe("The status that you know; the answer is immediate if the change has another one."),
      timeout_seconds: integer(1, MAX_WAIT_S).default(MAX_WAIT_S).describe("Maximum wait in seconds."),
    }),
    output: changeStatusSchema.extend({
      moved: z.boolean().describe("True if the status differs from `seen_status`."),
    }),
  },
  async ({ change_id, seen_status, timeout_seconds }, call) => {
    await awaitStatus(call.deps, change_id, {
      seconds: timeout_seconds,
      isUnchanged: ({ status }) => status === seen_status,
      name: findWaiterName(call),
      signal: call.request.signal,
    });
    const current = await readChangeStatus(call, change_id);
    return { ...current, moved: current.status !== seen_status };
  },
  {
    task: (wait, call) => createWaitTask(call, wait),
    // Shows the user the page on which to decide; nothing if no page is known, or the change waits for no consent.
    async prompt({ change_id, seen_status }, call) {
      const { status, page, summary } = await readChangeStatus(call, change_id);
      if (page === null || status !== seen_status || status !== "pending_consent") return undefined;
      return { change_id, url: page, message: `A person decides on ${quote(summary, 200)} on this page.` };
    },
  },
);
