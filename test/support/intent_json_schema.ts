/** The JSON Schema of a ProductIntent, for editors and for those who write intents by program. */
import * as z from "zod";
import { intentSchema } from "../../lib/changes/rules/intent.ts";

/** Draft 2020-12. It knows fields and types; that a quorum can be reached is checked when the intent is loaded. */
export const intentJsonSchema = (): object => ({
  ...z.toJSONSchema(intentSchema(), {
    io: "input",
    override({ jsonSchema }) {
      if (jsonSchema.additionalProperties === false) jsonSchema.patternProperties = { "^x-": {} };
    },
  }),
  title: "ProductIntent",
});
