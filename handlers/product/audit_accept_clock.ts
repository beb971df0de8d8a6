import * as z from "zod";
import { entrySchema } from "../../lib/audit/entry.ts";
import { acceptClock, type ClockResult } from "../../lib/changes/commands/accept_clock.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { ACTION_ERRORS, actionFields, actionTerms } from "../../lib/http/decision_declaration.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { respond } from "../../lib/http/replies.ts";

/** POST /api/product/audit/accept-clock: entries are dated by the current clock, although the newest entry has a later date. */
export const auditAcceptClock = endpoint(
  {
    ...actionTerms,
    path: "/api/product/audit/accept-clock",
    summary: "Accept the current clock",
    operation: "acceptClock",
    description: "After a clock ran ahead: the next entry gets the clock's earlier time.",
    example: { actor: "ops@acme.example", note: "The clock ran a day ahead until 09:00." },
    input: () => z.strictObject(actionFields()),
    output: () =>
      z.object({
        at: z
          .string()
          .meta({ description: "Time of the new entry, RFC 3339.", examples: ["2026-11-20T09:30:00.000Z"] }),
        last: z.string().meta({ description: "Time of the entry before it.", examples: ["2026-11-21T10:00:00.000Z"] }),
        audit_entry: entrySchema(),
      }),
    errors: [...ACTION_ERRORS, "illegal_transition"],
  },
  (input, call: Call<ChangesDeps>) => respond(call, (caller) => acceptClock(caller, input), clockReply),
);

const clockReply = ({ entry, ...members }: ClockResult) => ({ members, entry });
