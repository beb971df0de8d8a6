import * as z from "zod";
import { identitySchema } from "../../changes/runtime.ts";
import { stateSchema, readState } from "../../operations/state.ts";
import { pick } from "../../operations/change_views.ts";
import { ABOUT_TEXTS, aboutTexts } from "../change_status.ts";
import { createTool } from "../tool.ts";

const SHOWN_FIELDS = ["E", "M", "R", "N", "goals", "freeze", "as_of"] as const;
const shownSchema = stateSchema.pick({ E: true, M: true, R: true, N: true, goals: true, freeze: true, as_of: true });

/** The tool that shows the state of the product. */
export const productState = createTool(
  {
    name: "product_state",
    title: "State of the product",
    description:
      "State of the product: effect, memory, reliability and need, each 0 to 1 and null without data; goals; and the freeze, if any.",
    ownReads: false,
    input: z.strictObject({}),
    output: shownSchema.extend({ identity: identitySchema(), about_texts: aboutTexts }),
  },
  async (_input, { deps }) => ({
    ...pick(await readState(deps), SHOWN_FIELDS),
    // The endpoint of the tools needs a product.
    identity: deps.product!.identity,
    about_texts: ABOUT_TEXTS,
  }),
);
