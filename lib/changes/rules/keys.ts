/** The keys that people sign their decisions with, as an intent lists them. */
import * as z from "zod";
import { once } from "../../kit/once.ts";
import { decodeBase64Url } from "../../kit/base64.ts";
import { nonEmptyText, list, strictObject } from "./fields.ts";
import { toHex, parsePasskeyMaterial, SSH_KEY_TYPES, parseSshMaterial } from "./key_material.ts";

/** A value that cannot be parsed is not checked further. */
const createParseError = (expected: string) => ({ message: `must be ${expected}`, abort: true });

const base64UrlText = (expected: string) =>
  nonEmptyText()
    .max(2000)
    .refine(
      (text) => decodeBase64Url(text) !== undefined,
      createParseError(`${expected} in base64url without padding`),
    );

const passkeySchema = () =>
  strictObject({
    type: z.literal("webauthn").describe("A passkey."),
    credential_id: base64UrlText("the credential id").describe("Its id, base64url without padding."),
    public_key: base64UrlText("the public key (SPKI)")
      .refine(
        (text) => parsePasskeyMaterial(text) !== undefined,
        createParseError("a public key of ES256, Ed25519 or RS256 (2048 bits or more), as getPublicKey() gives it"),
      )
      .describe("Its public key (SPKI), base64url without padding."),
    rp_id: nonEmptyText()
      .regex(/^(?:localhost|[a-z0-9-]+(?:\.[a-z0-9-]+)+)$/, "must be a host name in lower case")
      .describe("The host name it was made for."),
    origins: list(nonEmptyText())
      .min(1, "must name an origin; without the field it is https:// and the rp_id")
      .optional()
      .describe("Where it may be used; absent: https:// and the rp_id."),
  }).superRefine(({ rp_id, origins = [] }, context) => {
    for (const [index, origin] of origins.entries())
      if (!isOriginOfHost(origin, rp_id))
        context.addIssue({ code: "custom", path: ["origins", index], message: `must be an https origin of ${rp_id}` });
  });

const sshKeySchema = () =>
  strictObject({
    type: z.literal("ssh").describe("An SSH key."),
    public_key: nonEmptyText()
      .max(2000)
      .refine(
        (text) => parseSshMaterial(text) !== undefined,
        createParseError(`a line of a .pub file: ${SSH_KEY_TYPES.join(", ")}`),
      )
      .describe("The line of its .pub file."),
    unattended: z
      .boolean("must be true or false")
      .default(false)
      .describe("Must be true for a key that signs without a touch; such signatures are shown as unattended."),
  }).superRefine(({ public_key, unattended }, context) => {
    // Only a security key has an application; any other key signs without a person's touch.
    const material = parseSshMaterial(public_key);
    if (!material || unattended === (material.application === undefined)) return;
    const message = unattended
      ? "is for keys that sign by themselves; a security key is always asked for the person's presence"
      : `must be true with ${material.type}: such a key signs by itself, and any program of its owner can use it`;
    context.addIssue({ code: "custom", path: ["unattended"], message });
  });

/** Returns true for an origin of the relying party or of a subdomain: https, or http on localhost. */
function isOriginOfHost(origin: string, rpId: string): boolean {
  if (!URL.canParse(origin)) return false;
  const url = new URL(origin);
  const isSecure = url.protocol === "https:" || (url.protocol === "http:" && url.hostname === "localhost");
  const isOfHost = url.hostname === rpId || url.hostname.endsWith(`.${rpId}`);
  return isSecure && isOfHost && url.origin === origin;
}

/** One key of the intent. */
export const keySchema = once(() =>
  z.discriminatedUnion("type", [passkeySchema(), sshKeySchema()], "must have the type webauthn or ssh"),
);
export type Key = z.output<ReturnType<typeof keySchema>>;
export type PasskeyKey = Extract<Key, { type: "webauthn" }>;
export type SshKey = Extract<Key, { type: "ssh" }>;

/** Lists values that identify a key however it is written; no two people may share one. */
export const listKeyIdentities = (key: Key): string[] =>
  key.type === "ssh"
    ? [toHex(parseSshMaterial(key.public_key)!.raw)]
    : [toHex(parsePasskeyMaterial(key.public_key)!.raw), key.credential_id];
