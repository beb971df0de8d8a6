/** Verb that proposes a plan. */
import type { Verb } from "../verb.ts";
import { propose } from "./propose.ts";

/** Proposes a plan from a file; options override its fields. */
export const plan: Verb = {
  ...propose,
  usage: "plan <file>",
  summary: "Propose a plan from a file (YAML or JSON: its fields, or the list of its targets)",
  // The targets of a plan have values of their own, a plan has no rollout, and `promotes` would copy another change's targets.
  fields: propose.fields!.filter((field) => !["value", "stages", "promotes"].includes(field)),
  async run(session, call) {
    // Only this verb needs the YAML parser.
    const { readPlanFile } = await import("../plan_file.ts");
    const fields = { ...(await readPlanFile(call.args["file"]!)), ...call.fields };
    return propose.run(session, { ...call, fields });
  },
};
