import type { Socket } from "node:net";

/** Meets whoever asks the process that holds, after it was told so; it may go on to talk, and closes the socket in the end. */
export type Asked = (socket: Socket) => void;

/** Takes hold of what a folder stands for: resolves with its release, or with undefined when another process holds it. */
export type Hold = (folder: string, asked?: Asked) => Promise<(() => Promise<void>) | undefined>;
