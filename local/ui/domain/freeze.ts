/** A freeze of the service: nothing is applied meanwhile. */
import type { State } from "../core/api_types.ts";
import { formatDateTime } from "../core/format.ts";
import type { Part } from "../../../lib/wording/part.ts";

/** A freeze, as the state shows it. */
export type Freeze = NonNullable<State["freeze"]>;

/** "Ana froze the service until 24 Nov 2026, 08:00: the audit of the ledger." */
export const describeFreeze = ({ actor, until, note }: Freeze): Part[] => [
  { given: actor },
  ` froze the service until ${until === null ? "somebody lifts it" : formatDateTime(until)}`,
  ...(note === "" ? ["."] : [": ", { given: note }]),
];
