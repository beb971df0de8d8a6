/** Connections of a pool, borrowed so that one that breaks is neither reused nor the end of the process. */
import type { Pool, PoolClient } from "pg";
import { storeError } from "./errors.ts";

/** A connection that was borrowed; it goes back once, by either way. */
export interface Connection {
  client: PoolClient;
  /** Asks something of it, after what was asked before: at once where it can be sent without waiting for those answers. */
  send<T>(work: (client: PoolClient) => Promise<T>): Promise<T>;
  /** Hands it back as it is. */
  release(): void;
  /** Undoes what is open and hands it back; closes it when that fails. */
  giveUp(): Promise<void>;
}

// A connection that breaks between two statements tells it by an event, which ends the process when nobody listens.
const ignore = (): void => undefined;

/**
 * A connection that is listened to from the first moment: the server's last word may lie in the same packet as its welcome,
 * and a promise would hand the connection over after it.
 */
const connect = (pool: Pool): Promise<PoolClient> =>
  new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      client?.on("error", ignore);
      if (client) resolve(client);
      else reject(error ?? new Error("no connection"));
    });
  });

/** The part of a connection's stream that is used. */
interface Stream {
  emit(event: string, ...args: unknown[]): boolean;
  destroy(error: Error): unknown;
}

/**
 * Takes bytes that the driver cannot parse for a lost connection. The driver parses in an event, so that what it throws
 * would end the process.
 */
export function closeOnBadBytes(client: object): void {
  const { stream } = (client as { connection: { stream: Stream } }).connection;
  const emit = stream.emit.bind(stream);
  stream.emit = (event, ...args) => {
    if (event !== "data") return emit(event, ...args);
    try {
      return emit(event, ...args);
    } catch (error) {
      stream.destroy(error instanceof Error ? error : new Error(String(error)));
      return true;
    }
  };
}

/** Borrows a connection. Errors: `StoreUnavailable`. */
export async function borrow(pool: Pool, place: string): Promise<Connection> {
  const client = await connect(pool).catch((error: unknown) => {
    throw storeError(error, place);
  });
  let isBorrowed = true;
  const release = (broken = false): void => {
    if (!isBorrowed) return;
    isBorrowed = false;
    client.off("error", ignore);
    client.release(broken);
  };
  let last: Promise<unknown> = Promise.resolve();
  const send = <T>(work: (client: PoolClient) => Promise<T>): Promise<T> => {
    if ((client as { pipeline?: boolean }).pipeline) return work(client);
    const sent = last.then(() => work(client));
    last = sent.catch(ignore);
    return sent;
  };
  return {
    client,
    send,
    release: () => release(),
    async giveUp() {
      if (!isBorrowed) return;
      await send(() => client.query("rollback")).then(
        () => release(),
        () => release(true),
      );
    },
  };
}

/** Does what may be done again on a connection of its own. Errors: `Contended`, `StoreUnavailable`. */
export async function runOnConnection<T>(
  pool: Pool,
  place: string,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const { client, release, giveUp } = await borrow(pool, place);
  try {
    const result = await work(client);
    release();
    return result;
  } catch (error) {
    await giveUp();
    throw storeError(error, place, "first use");
  }
}
