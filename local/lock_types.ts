/** Types of functions that lock a folder. */
import type { Socket } from "node:net";

/** Handles a connection to the process that holds the lock, after the greeting; it must close the socket. */
export type OnConnection = (socket: Socket) => void;

/** Locks a folder: resolves with the function that releases it, or with undefined when another process holds it. */
export type AcquireFolder = (folder: string, onConnection?: OnConnection) => Promise<(() => Promise<void>) | undefined>;
