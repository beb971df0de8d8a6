/** Settings of notifications from environment variables. */
import { expect, test } from "vitest";
import { readNotifyOptions } from "../../../lib/hosts/notify_settings.ts";
import { SettingInvalid } from "../../../lib/hosts/settings.ts";

const SVC_NOTIFY_URL = "https://hooks.example/hunter2";
const SVC_NOTIFY_SECRET = "a secret of the two of us";

test.each([
  [{}, undefined],
  [{ SVC_NOTIFY_URL: "", SVC_NOTIFY_SECRET }, undefined],
  [
    { SVC_NOTIFY_URL, SVC_NOTIFY_SECRET },
    { url: SVC_NOTIFY_URL, format: "json", secret: SVC_NOTIFY_SECRET },
  ],
  // Only the format json is signed, so the others ignore the secret.
  [
    { SVC_NOTIFY_URL, SVC_NOTIFY_FORMAT: "slack", SVC_NOTIFY_SECRET },
    { url: SVC_NOTIFY_URL, format: "slack" },
  ],
  [
    { SVC_NOTIFY_URL, SVC_NOTIFY_FORMAT: "teams" },
    { url: SVC_NOTIFY_URL, format: "teams" },
  ],
])("the variables %j give the options %j", (env, options) => expect(readNotifyOptions(env)).toEqual(options));

test.each([
  [{ SVC_NOTIFY_URL: "hooks.example/hunter2", SVC_NOTIFY_SECRET }, "SVC_NOTIFY_URL must be an http or https address"],
  [{ SVC_NOTIFY_URL: "ftp://hooks.example/hunter2" }, "SVC_NOTIFY_URL must be an http or https address"],
  [{ SVC_NOTIFY_URL, SVC_NOTIFY_FORMAT: "xml" }, "SVC_NOTIFY_FORMAT must be json, slack, teams"],
  [
    { SVC_NOTIFY_URL },
    "SVC_NOTIFY_URL needs SVC_NOTIFY_SECRET, which signs what is sent, or SVC_NOTIFY_FORMAT slack or teams",
  ],
  [{ SVC_NOTIFY_URL, SVC_NOTIFY_SECRET: "hunter2" }, "SVC_NOTIFY_SECRET must have 16 characters or more"],
  [{ SVC_NOTIFY_URL, SVC_NOTIFY_SECRET: "whsec_%%hunter2" }, "SVC_NOTIFY_SECRET must be base64 after whsec_"],
])("%j is rejected with the setting's name and without address or secret", (env, message) => {
  expect(() => readNotifyOptions(env)).toThrow(new SettingInvalid(message));
  expect(message).not.toContain("hunter2");
});
