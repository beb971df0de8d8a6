/** A virtual authenticator of the browser, in place of a device with passkeys. */
import type { CDPSession, Page } from "playwright-core";

/** A virtual device with passkeys and its user. */
export interface Authenticator {
  /** Sets whether the next signatures verify the user, as a fingerprint does. */
  setUserVerified(isVerified: boolean): Promise<void>;
  /** Returns the number of stored passkeys. */
  countPasskeys(): Promise<number>;
  /** Returns the number of signatures so far. */
  countSignatures(): number;
}

/** Adds a device to a window until it closes; the device verifies its user and confirms every request immediately. */
export async function addAuthenticator(page: Page): Promise<Authenticator> {
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
  let signatures = 0;
  session.on("WebAuthn.credentialAsserted", () => void signatures++);
  return {
    countSignatures: () => signatures,
    setUserVerified: async (isUserVerified) =>
      void (await session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified })),
    countPasskeys: async () => (await session.send("WebAuthn.getCredentials", { authenticatorId })).credentials.length,
  };
}
