import * as z from "zod";
import { changeId } from "../../kit/fields.ts";
import { standing, standingSchema } from "../standing.ts";
import { tool } from "../tool.ts";

/** One change. */
export const getChange = tool(
  {
    name: "get_change",
    title: "Get a change",
    description: "One change: its content and status, who consented, what the policy still asks for and of whom.",
    ownReads: true,
    input: z.strictObject({ change_id: changeId().describe("Id of the change.") }),
    output: standingSchema,
  },
  ({ change_id }, call) => standing(call, change_id),
);
