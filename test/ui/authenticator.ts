/** The browser's own virtual authenticator, in place of a finger on a sensor. */
import type { CDPSession, Page } from "playwright-core";

/** A device that holds passkeys, and the person before it. */
export interface Authenticator {
  /** Returns whether it recognises its person. */
  recognises(does: boolean): Promise<void>;
  /** How many passkeys it holds. */
  count(): Promise<number>;
  /** Number of touches for signatures. */
  taps(): number;
}

/** Gives a window a device that knows its person and is touched at once; it lives as long as the window. */
export async function authenticator(page: Page): Promise<Authenticator> {
  const session: CDPSession = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  let taps = 0;
  session.on("WebAuthn.credentialAsserted", () => void taps++);
  return {
    taps: () => taps,
    recognises: async (isUserVerified) =>
      void (await session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified })),
    count: async () => (await session.send("WebAuthn.getCredentials", { authenticatorId })).credentials.length,
  };
}
