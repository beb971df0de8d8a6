import type { LinkDeps } from "./link/deps.ts";

/** Everything any handler is given: the slices of all rooms. Nothing is read from the environment behind its back. */
export interface Deps extends LinkDeps {}
