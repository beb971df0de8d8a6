/** Bytes that the driver cannot parse close the connection and do not end the process. */
import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { closeOnBadBytes } from "../../../../lib/store/postgres/connection.ts";

test("an exception of the driver's parser closes its connection", () => {
  const stream = Object.assign(new EventEmitter(), {
    destroy(error: Error) {
      stream.emit("error", error);
    },
  });
  const errors: Error[] = [];
  stream.on("error", (error: Error) => errors.push(error));
  stream.on("data", () => {
    throw new Error("received invalid response: 4a");
  });
  closeOnBadBytes({ connection: { stream } });
  // The listener that throws is called, and the error does not reach the emitter.
  expect(stream.emit("data", Buffer.from("x"))).toBe(true);
  expect(errors.map(({ message }) => message)).toEqual(["received invalid response: 4a"]);
});
