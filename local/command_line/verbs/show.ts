import { changeText } from "../change_text.ts";
import type { Verb } from "../verb.ts";

/** Shows one change. */
export const show: Verb = {
  usage: "show <change_id>",
  operation: "GET /api/product/changes/{change_id}",
  async run({ client }, { args: { change_id = "" } }) {
    return {
      text: changeText(await client.get("/api/product/changes/{change_id}", { params: { path: { change_id } } })),
    };
  },
};
