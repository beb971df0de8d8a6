import type { Socket } from "node:net";

/** Handles a connection to the holding process, after the greeting; it may continue to talk, and must close the socket. */
export type Asked = (socket: Socket) => void;

/** Takes hold of what a folder stands for: resolves with its release, or with undefined when another process holds it. */
export type Hold = (folder: string, asked?: Asked) => Promise<(() => Promise<void>) | undefined>;
