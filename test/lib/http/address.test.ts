import { expect, test } from "vitest";
import { findWaiterName } from "../../../lib/http/address.ts";

const request = Object.assign(new Request("http://127.0.0.1:8420/mcp"), { ip: "192.0.2.7" });

const ANYBODY = { personSource: "the person who is logged in", hasToken: false };

test.each([
  ["an agent, by its name", { agent: "agent:pricing", person: undefined }, "agent:pricing"],
  ["a person whom a proxy names", { person: "ana" }, "ana"],
  ["those whom a proxy leaves unnamed, by their addresses and not together", { person: "" }, "192.0.2.7"],
  ["anybody, by the address", { person: undefined }, "192.0.2.7"],
])("waiting requests are counted by caller: %s", (_, named, name) =>
  expect(findWaiterName({ identity: { ...ANYBODY, ...named }, request })).toBe(name),
);
