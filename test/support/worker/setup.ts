/** Setup that a test sends with its request, in a header that the service never sees. */
export interface Setup {
  /** Which service; each has an object of its own. */
  service: string;
  /** The Worker's settings. */
  env: Record<string, string>;
  /** Time of the clock. */
  now: number;
  /** The ids that it makes count on from here, or from the last one that its object made. */
  id: number;
  /** The headers that have no text: workerd drops some of them on the way, so they are put back behind it. */
  empty?: string[];
  /** A part of the service fails when it is asked. */
  fails?: true;
  /** Resets the object instead of asking it; `once`: only one that has been asked before. */
  reset?: "always" | "once";
}

/** As a header holds it. */
export const setupText = (setup: Setup): string => encodeURIComponent(JSON.stringify(setup));

/** Returns the value of a header. */
export const parseSetup = (text: string): Setup => JSON.parse(decodeURIComponent(text)) as Setup;

export const SETUP_HEADER = "x-test-setup";
