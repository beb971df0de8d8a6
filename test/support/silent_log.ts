import type { Log } from "../../lib/kit/platform.ts";

/** A log that drops everything. */
export const silentLog: Log = { info() {}, warn() {}, error() {} };
