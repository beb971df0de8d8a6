/** Borrows connections of a pool. A broken connection is not reused and does not end the process. */
import type { Pool, PoolClient } from "pg";
import { storeError } from "./errors.ts";

/** A borrowed connection; `release` or `giveUp` returns it to the pool. */
export interface Connection {
  client: PoolClient;
  /** Runs `work` after earlier work; on a pipelined connection without waiting for the earlier answers. */
  send<T>(work: (client: PoolClient) => Promise<T>): Promise<T>;
  /** Returns the connection to the pool. */
  release(): void;
  /** Rolls back an open transaction and returns the connection to the pool; closes the connection if the rollback fails. */
  giveUp(): Promise<void>;
}

// A connection that breaks between two statements emits "error", which ends the process if there is no listener.
const ignore = (): void => undefined;

/**
 * Opens a connection and adds its error listener synchronously: the server may close the connection in the same packet that
 * accepts it, and the code after an `await` would run too late.
 */
const connect = (pool: Pool): Promise<PoolClient> =>
  new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      client?.on("error", ignore);
      if (client) resolve(client);
      else reject(error ?? new Error("no connection"));
    });
  });

/** The used part of a connection's stream. */
interface Stream {
  emit(event: string, ...args: unknown[]): boolean;
  destroy(error: Error): unknown;
}

/**
 * Closes a connection that receives bytes that the driver cannot parse. The driver parses them in an event listener, where its
 * error would end the process.
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
  const release = (isBroken = false): void => {
    if (!isBorrowed) return;
    isBorrowed = false;
    client.off("error", ignore);
    client.release(isBroken);
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

/** Runs repeatable work on a connection of the pool. Errors: `Contended`, `StoreUnavailable`. */
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
