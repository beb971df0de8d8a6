/** The name under which waiting requests of one caller are counted. */
import { expect, test } from "vitest";
import { findWaiterName } from "../../../lib/http/address.ts";

const request = Object.assign(new Request("http://127.0.0.1:8420/mcp"), { ip: "192.0.2.7" });

const UNIDENTIFIED = { personSource: "the person who is logged in", hasToken: false };

test.each([
  ["an agent by its name", { agent: "agent:pricing", person: undefined }, "agent:pricing"],
  ["a person by the name from the proxy", { person: "ana" }, "ana"],
  ["a caller without a name behind a proxy by the IP address", { person: "" }, "192.0.2.7"],
  ["a caller without a proxy by the IP address", { person: undefined }, "192.0.2.7"],
])("waiting requests are counted for %s", (_, identity, name) =>
  expect(findWaiterName({ identity: { ...UNIDENTIFIED, ...identity }, request })).toBe(name),
);
