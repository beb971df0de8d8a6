/** Orders in chat messages: an action's verb orders it; a past form or a noun describes changes, and orders nothing. */
import { expect, test } from "vitest";
import { findAction } from "../../../lib/chat/topics.ts";

test.each([
  ["approve it", "approve"],
  ["please roll back chg_1", "rollback"],
  ["consent to the banner", "approve"],
  // Chinese for "approve this change".
  ["批准这个变更", "approve"],
  ["approved by ana", undefined],
  ["revoked by bo", undefined],
  ["rejected changes", undefined],
  ["denied by ana", undefined],
  ["applied in October", undefined],
  ["approvals of ana", undefined],
])("the message %j orders the action %j", (message, verb) => {
  expect(findAction(message)?.verb).toBe(verb);
});
