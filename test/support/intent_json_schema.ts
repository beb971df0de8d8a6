/** The JSON Schema of a ProductIntent, for editors and for programs that write intents. */
import * as z from "zod";
import { intentSchema } from "../../lib/changes/rules/intent.ts";

/** Returns a schema of draft 2020-12 for fields and types; rules such as a reachable quorum are checked at load time. */
export const intentJsonSchema = (): object => ({
  ...z.toJSONSchema(intentSchema(), {
    io: "input",
    override({ jsonSchema }) {
      // The service ignores unknown fields whose names begin with `x-`.
      if (jsonSchema.additionalProperties === false) jsonSchema.patternProperties = { "^x-": {} };
    },
  }),
  title: "ProductIntent",
});
