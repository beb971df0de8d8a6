/** What can be measured of a change. */

/** A part of a change's life. */
export const SPANS = ["decision", "apply", "whole", "force", "waiting"] as const;
export type Span = (typeof SPANS)[number];
/** Spans in milliseconds. */
export type Measure = Span | "users" | "expected" | "attempts";
