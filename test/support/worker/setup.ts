/** Settings of the service that a test sends with its request, in a header that the service does not receive. */
export interface Setup {
  /** Name of the service; each service has an object of its own. */
  service: string;
  /** The Worker's settings. */
  env: Record<string, string>;
  /** Time of the clock. */
  now: number;
  /** New ids continue from this number, or from the last id of the object if that is higher. */
  id: number;
  /** Headers with an empty value: workerd drops some of them, so the Worker adds them again. */
  empty?: string[];
  /** Makes the clock of the service throw. */
  fails?: true;
  /** Resets the object instead of answering; `once`: only an object that has answered before. */
  reset?: "always" | "once";
}

/** Encodes a setup as the value of a header. */
export const setupText = (setup: Setup): string => encodeURIComponent(JSON.stringify(setup));

/** Decodes the value of a header. */
export const parseSetup = (text: string): Setup => JSON.parse(decodeURIComponent(text)) as Setup;

export const SETUP_HEADER = "x-test-setup";
