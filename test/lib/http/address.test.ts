/** The name under which waiting requests of one caller are counted. */
import { expect, test } from "vitest";
import { findWaiterName } from "../../../lib/http/address.ts";

const request = Object.assign(new Request("http://127.0.0.1:8420/mcp"), { ip: "192.0.2.7" });

const UNIDENTIFIED = { personSource: "the person who is logged in", hasToken: false };

test.each([
  ["requests of an agent are counted by its name", { agent: "agent:pricing", person: undefined }, "agent:pricing"],
  ["requests of a person are counted by the name from the proxy", { person: "ana" }, "ana"],
  ["requests without a name behind a proxy are counted by the IP address", { person: "" }, "192.0.2.7"],
  ["requests without a proxy are counted by the IP address", { person: undefined }, "192.0.2.7"],
])("%s", (_, identity, name) =>
  expect(findWaiterName({ identity: { ...UNIDENTIFIED, ...identity }, request })).toBe(name),
);
