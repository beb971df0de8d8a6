import { readPlanFile } from "../plan_file.ts";
import type { Verb } from "../verb.ts";
import { propose } from "./propose.ts";

/** Proposes a plan from a file; options take the place of its fields. */
export const plan: Verb = {
  ...propose,
  usage: "plan <file>",
  summary: "Propose a plan from a file (YAML or JSON: the fields, or the list of what it sets)",
  fields: propose.fields!.filter((field) => !["value", "stages", "promotes"].includes(field)),
  async run(session, given) {
    const fields = { ...(await readPlanFile(given.args["file"]!)), ...given.fields };
    return propose.run(session, { ...given, fields });
  },
};
