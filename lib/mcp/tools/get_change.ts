import * as z from "zod";
import { changeId } from "../../kit/fields.ts";
import { readChangeStatus, changeStatusSchema } from "../change_status.ts";
import { createTool } from "../tool.ts";

/** The tool that shows one change. */
export const getChange = createTool(
  {
    name: "get_change",
    title: "Get a change",
    description: "One change: its content and status, the people who consented, and the missing consents.",
    ownReads: true,
    input: z.strictObject({ change_id: changeId().describe("Id of the change.") }),
    output: changeStatusSchema,
  },
  ({ change_id }, call) => readChangeStatus(call, change_id),
);
