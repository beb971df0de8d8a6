/** Consents signed in the console, with a passkey of a virtual authenticator and with SSH keys. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { program } from "../e2e/server.ts";
import { inFull } from "../support/run_length.ts";
import { sshSigner } from "../support/passkeys.ts";
import { type Authenticator, addAuthenticator } from "./authenticator.ts";
import { findSerious } from "./axe.ts";
import { button, showReasons, startBrowser, useWindows, visit } from "./browser.ts";
import { type Answer, type Service, startService, TOKEN } from "./service.ts";
import {
  countInputs,
  readDecisions,
  enrolPasskey,
  localhostUrl,
  INTENT_WITHOUT_KEYS,
  restart,
  makeSigningIntent,
} from "./signing.ts";

const run = promisify(execFile);
const browser = await startBrowser();
const ANA = { name: "ana", token: TOKEN };

/** Opens the link to a change and consents to it, with one click and no key press. */
async function approveInOneClick(page: Page, service: Service, id: string): Promise<void> {
  const countedInputs = await countInputs(page);
  await page.goto(new URL(`/#/changes/${id}`, localhostUrl(service)).href);
  // The script that counts inputs runs at a load, and the address before may differ only in its fragment.
  await page.reload();
  await button(page, "Approve with your key").click();
  await page.getByText("Your consent is recorded.").waitFor();
  expect(await countedInputs()).toEqual({ clicks: 1, keys: 0 });
}

/** Returns the report of `countersign-verify` on the service's log, with the people's keys from a separate file. */
async function verifyOffline(service: Service, intent: object): Promise<Answer> {
  const file = (name: string) => join(service.folder, name);
  writeFileSync(file("policy.json"), JSON.stringify(intent));
  writeFileSync(file("audit.jsonl"), await (await fetch(`${service.url}/api/product/audit?format=jsonl`)).text());
  const verifier = join(dirname(await program()), "verify/main.js");
  const args = [verifier, file("audit.jsonl"), "--policy", file("policy.json"), "--json"];
  // No receipt or checkpoint is given to verify the log against, so the verifier exits with 2.
  const ended = await run(process.execPath, args).catch((failure: { code: number; stdout: string }) => failure);
  expect(ended).toMatchObject({ code: 2 });
  return JSON.parse(ended.stdout);
}

describe.skipIf(!browser)("signed consent in the console", () => {
  const open = useWindows(browser);

  test("a passkey made in the console and listed in the intent signs a consent with one click", async () => {
    let service = await startService({ intent: INTENT_WITHOUT_KEYS });
    const page = await open(ANA);
    const device = await addAuthenticator(page);
    const principals = await enrolPasskey(page, service);
    const passkey = { type: "webauthn", rp_id: "localhost", origins: [localhostUrl(service)] };
    expect(principals).toMatchObject({ ana: { kind: "person", keys: [passkey] } });
    expect(await device.countPasskeys()).toBe(1);
    const steps = page.locator("ol.steps");
    expect(await steps.evaluate((list) => getComputedStyle(list).listStyleType), "steps have numbers").toBe("decimal");

    const intent = makeSigningIntent(principals);
    service = await restart(service, { intent });
    const id = await service.propose();
    await approveInOneClick(page, service, id);

    const [decision] = await readDecisions(service, id);
    const { digest } = await service.get(`api/product/changes/${id}`);
    expect(decision).toMatchObject({ approver: "ana", decision: "approved", authenticated: "signature" });
    expect(JSON.parse(decision.statement)).toMatchObject({ decision: "approve", change_id: id, digest, note: "" });
    const proofs = { verified: 1, as_named: 0, not_checked: 0 };
    expect(await verifyOffline(service, intent)).toMatchObject({ verdict: "consistent", proofs });
    await page.getByText("Given with ana’s key; their presence was verified.").waitFor();
  });

  /** Starts a service whose intent lists a passkey of Ana, with her window and the device that has the passkey. */
  async function startWithPasskey(
    policy: object = {},
    {
      args = [],
      headers = {},
      others = {},
    }: { args?: string[]; headers?: Record<string, string>; others?: object } = {},
  ): Promise<{ service: Service; page: Page; device: Authenticator; principals: object }> {
    const before = await startService({ intent: INTENT_WITHOUT_KEYS, args });
    const page = await open({ ...ANA, extraHTTPHeaders: headers });
    const device = await addAuthenticator(page);
    const principals = { ...(await enrolPasskey(page, before)), ...others };
    const service = await restart(before, { intent: makeSigningIntent(principals, policy), args });
    return { service, page, device, principals };
  }

  test("behind a proxy that names people, nothing needs to be typed", async () => {
    const proxied = { args: ["--identity-header=x-person"], headers: { "x-person": "ana" } };
    const { service, page } = await startWithPasskey({}, proxied);
    const response = await fetch(`${service.url}/api/product/propose-crm-followup`, {
      method: "POST",
      headers: { "x-person": "pat", "x-svc-admin-token": TOKEN },
      body: new URLSearchParams({ tenant_id: "t1", affected_users: "40", expected_delta_k: "1" }),
    });
    const { change_id: id } = await response.json();
    await page.addInitScript(() => localStorage.clear());
    await approveInOneClick(page, service, id);
    expect(await readDecisions(service, id)).toMatchObject([{ approver: "ana", authenticated: "signature" }]);
    await page.getByRole("button", { name: "You ana" }).click();
    await page.getByText("The proxy in front of this service identifies you as ana.").waitFor();
  });

  test("a failed or cancelled signature records nothing, and signing works afterwards", async () => {
    const { service, page, device } = await startWithPasskey();
    const id = await service.propose();
    await visit(page, localhostUrl(service), `changes/${id}`);
    await device.setUserVerified(false);
    await button(page, "Approve with your key").click();
    await page.getByText("Nothing was signed: it was cancelled, took too long").waitFor();
    expect(await readDecisions(service, id)).toEqual([]);
    expect(await page.locator(".change-head .mark").innerText()).toBe("Waits for consent");

    await device.setUserVerified(true);
    await page.evaluate(() => {
      const { credentials } = navigator;
      const get = credentials.get.bind(credentials);
      // Simulates the Cancel button of the browser's own dialog.
      credentials.get = (options) =>
        get({ ...options, signal: AbortSignal.abort(new DOMException("", "NotAllowedError")) });
    });
    await button(page, "Approve with your key").click();
    await page.getByText("Nothing was signed:").waitFor();
    expect(await readDecisions(service, id)).toEqual([]);
    await page.reload();
    await button(page, "Approve with your key").click();
    await page.getByText("Your consent is recorded.").waitFor();
  });

  test("content that does not match the change's digest cannot be signed", async () => {
    const { service, page } = await startWithPasskey();
    const id = await service.propose();
    await page.route(`**/api/product/changes/${id}*`, async (route) => {
      const change = await (await route.fetch()).json();
      await route.fulfill({ json: { ...change, value: 26 } });
    });
    await visit(page, localhostUrl(service), `changes/${id}`);
    await page.getByText("The content on this page does not match the change's digest.").waitFor();
    expect(await button(page, "Approve with your key").count()).toBe(0);
  });

  test("a decision signed in the dialog includes its note, and the dialog is accessible", async () => {
    const { service, page } = await startWithPasskey();
    const id = await service.propose();
    await visit(page, localhostUrl(service), `changes/${id}`);
    await button(page, "Approve with your key").waitFor();
    expect(await findSerious(page, "one tap")).toEqual([]);
    await button(page, "Deny…").click();
    await page.getByLabel("Note").fill("Too\nearly; ‘later’.");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("ana denies: set limits.uploads for t1, with your note.").waitFor();
    await dialog.getByText("Show what is signed").click();
    const shown = await dialog.getByRole("region", { name: "What is signed" }).innerText();
    expect(await findSerious(page, "signed denial")).toEqual([]);
    await button(page, "Deny with your key").click();
    await page.getByText("Your denial is recorded.").waitFor();
    const [{ statement, note }] = await readDecisions(service, id);
    expect([statement, note]).toEqual([shown, "Too\nearly; ‘later’."]);
  });

  test("without the token, the page asks for the token next to the button and then signs", async () => {
    const { service, page } = await startWithPasskey();
    const id = await service.propose();
    await visit(page, localhostUrl(service), `changes/${id}`);
    await page.evaluate(() => sessionStorage.clear());
    await page.addInitScript(() => sessionStorage.clear());
    await page.reload();
    await button(page, "Approve with your key").click();
    await page.getByLabel("Admin token").fill(TOKEN);
    await button(page, "Approve with your key").click();
    await page.getByText("Your consent is recorded.").waitFor();
  });

  inFull(test)("no action button moves while the page loads", async () => {
    const { service, page } = await startWithPasskey();
    const id = await service.propose();
    await page.addInitScript(() => {
      const moved: string[] = ((globalThis as unknown as { moved: string[] }).moved = []);
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries() as (PerformanceEntry & { sources: { node: Node | null }[] })[])
          for (const { node } of entry.sources)
            if (node?.parentElement?.closest(".decision-bar")) moved.push(node.textContent ?? "");
      }).observe({ type: "layout-shift", buffered: true });
    });
    await visit(page, localhostUrl(service), `changes/${id}`);
    await page.reload();
    await button(page, "Approve with your key").waitFor();
    await page.getByText("The host product was asked").waitFor();
    expect(await page.evaluate(() => (globalThis as unknown as { moved: string[] }).moved)).toEqual([]);
  });

  test("after a lost response the same signature is sent again, without another prompt", async () => {
    const { service, page } = await startWithPasskey();
    const id = await service.propose();
    await visit(page, localhostUrl(service), `changes/${id}`);
    const sent: (string | null)[] = [];
    await page.route("**/api/product/approve", async (route) => {
      sent.push(route.request().postData());
      if (sent.length > 1) return route.continue();
      await route.fetch();
      return route.abort();
    });
    await button(page, "Approve with your key").click();
    await page.getByText("It may have arrived.").waitFor();
    await button(page, "Approve with your key").click();
    await page.getByText("Your consent is recorded.").waitFor();
    expect(sent).toEqual([sent[0], sent[0]]);
    expect(await readDecisions(service, id)).toHaveLength(1);
  });

  inFull(test)("after a change of the intent nothing is recorded until the new statement is signed", async () => {
    const { service: before, page, principals } = await startWithPasskey();
    const id = await before.propose();
    await visit(page, localhostUrl(before), `changes/${id}`);
    await button(page, "Approve with a note…").click();
    await page.getByRole("dialog").getByText("What you sign").waitFor();
    // The page does not notice the restart.
    for (const path of ["**/api/events", "**/api/product/identity"]) await page.route(path, (route) => route.abort());
    const service = await restart(before, { intent: makeSigningIntent(principals, {}, { update_epoch: 3 }) });
    await button(page, "Approve with your key").last().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("it is of another statement").waitFor();
    await dialog.getByText("The intent was changed meanwhile.").waitFor();
    expect(await readDecisions(service, id)).toEqual([]);
    await button(page, "Approve with your key").last().click();
    await page.getByText("Your consent is recorded.").waitFor();
  });

  inFull(test)("signing a change that was closed meanwhile says that nothing was recorded", async () => {
    const { service, page } = await startWithPasskey();
    const id = await service.propose();
    await visit(page, localhostUrl(service), `changes/${id}`);
    await page.route("**/api/product/approve", async (route) => {
      await button(page, "Sending…").waitFor();
      await service.post("api/product/withdraw", { change_id: id, proposer: "pat" });
      await route.continue();
    });
    await button(page, "Approve with your key").click();
    await page.getByText("Changed since you opened it.").waitFor();
    await page.getByText("Your decision was not recorded.").waitFor();
    expect(await page.locator(".change-head .mark").innerText()).toBe("Withdrawn");
  });

  inFull(test)("the signed time is the service's, also on a device with a wrong clock", async () => {
    const { service, page } = await startWithPasskey();
    const id = await service.propose();
    await page.clock.install({ time: Date.now() - 3 * 3_600_000 });
    await visit(page, localhostUrl(service), `changes/${id}`);
    await button(page, "Approve with your key").click();
    await page.getByText("Your consent is recorded.").waitFor();
  });

  inFull(test)("a page that stays open renews the statement before it is too old", async () => {
    const { service, page } = await startWithPasskey();
    const id = await service.propose();
    await page.clock.install();
    await visit(page, localhostUrl(service), `changes/${id}`);
    await page.reload();
    await page.getByText("Show what is signed").click();
    const readStatementTime = async () =>
      Date.parse(JSON.parse(await page.getByRole("region", { name: "What is signed" }).innerText()).at);
    const firstTime = await readStatementTime();
    // The statement is built again in the page, without the service.
    await page.route("**/api/**", (route) => route.abort());
    // Six minutes.
    await page.clock.fastForward("06:00");
    await page.clock.runFor(20_000);
    await expect.poll(readStatementTime).toBeGreaterThan(firstTime + 5 * 60_000);
  });

  inFull(test)("at an IP address the page links to the address where the passkey works", async () => {
    const { service, page } = await startWithPasskey();
    const id = await service.propose();
    await visit(page, service.url, `changes/${id}`);
    await page.getByText("Your passkey works only at the address where it was made.").waitFor();
    expect(await button(page, "Approve with your key").count()).toBe(0);
    await page.getByRole("link", { name: localhostUrl(service) }).click();
    await button(page, "Approve with your key").click();
    await page.getByText("Your consent is recorded.").waitFor();
    await visit(page, service.url, "you");
    await page.getByText("Browsers make no passkey for an IP address.").waitFor();
  });

  inFull(test)("the page says if the device has none of the person's keys, or the intent lists none", async () => {
    const { service } = await startWithPasskey();
    const id = await service.propose();
    const other = await open(ANA);
    await addAuthenticator(other);
    await visit(other, localhostUrl(service), `changes/${id}`);
    await button(other, "Approve with your key").click();
    await other.getByText("or this device has none of your keys").waitFor();
    const bo = await open({ name: "bo", token: TOKEN });
    await visit(bo, localhostUrl(service), `changes/${id}`);
    await showReasons(bo);
    await bo.getByText("It can be approved by ana.").waitFor();
  });

  test("with an SSH key the statement is signed by a command, and the signature is pasted", async () => {
    const signer = sshSigner("ssh-ed25519");
    const service = await startService({ intent: makeSigningIntent({ ana: { kind: "person", keys: [signer.key] } }) });
    const id = await service.propose();
    const page = await open(ANA);
    await visit(page, service.url, `changes/${id}`);
    await button(page, "Approve…").click();
    await page.getByLabel("Note").fill("It's fine.");
    const shown = page.getByRole("region", { name: "Command that signs" });
    await shown.getByText("s fine.").waitFor();
    const command = await shown.innerText();
    expect(command).toMatch(/\| ssh-keygen -Y sign -f \S+ -n countersign-consent$/);
    const { stdout: statement } = await run("sh", ["-c", command.slice(0, command.lastIndexOf(" | "))]);
    expect(await button(page, "Approve with your key").isDisabled()).toBe(true);
    expect(await findSerious(page, "ssh")).toEqual([]);
    // A wrong paste is reported, and the statement to sign stays the same.
    await page.getByLabel("Signature").fill(statement);
    await page.getByText("This is no SSH signature. Paste all lines from BEGIN to END.").waitFor();
    expect(await button(page, "Approve with your key").isDisabled()).toBe(true);
    await page.getByLabel("Signature").fill(signer.sign("another statement").signature);
    await Promise.all([page.waitForResponse("**/api/product/intent"), button(page, "Approve with your key").click()]);
    await page.getByRole("dialog").getByRole("alert").waitFor();
    expect(await shown.innerText()).toBe(command);
    await page.getByLabel("Signature").fill(`  ${signer.sign(statement).signature}\n`);
    await button(page, "Approve with your key").click();
    await page.getByText("Your consent is recorded.").waitFor();
    expect(await readDecisions(service, id)).toMatchObject([{ authenticated: "signature_unattended", statement }]);
    await page.getByText("Signed unattended, by a key of ana that signs by itself").waitFor();
  });

  inFull(test)("an unsigned consent no longer counts once keys are required, and the page says so", async () => {
    const policy = { approvers: ["ana", "bo"], required_approvers: { standard: 2 } };
    const before = await startService({ intent: makeSigningIntent({}, policy, { update_epoch: 1 }) });
    const id = await before.propose();
    await before.post("api/product/approve", { change_id: id, approver: "bo" });
    const keyed = () => ({ kind: "person", keys: [sshSigner().key] });
    const service = await restart(before, { intent: makeSigningIntent({ ana: keyed(), bo: keyed() }, policy) });
    const page = await open({ name: "bo", token: TOKEN });
    await visit(page, service.url, "");
    await page.getByText("0 of 2 consents").waitFor();
    await visit(page, service.url, `changes/${id}`);
    await showReasons(page);
    await page.getByText("1 approval does not count under the intent in force.").waitFor();
  });

  test("an emergency consent is signed as an emergency and with its note", async () => {
    const others = { bo: { kind: "person", keys: [sshSigner().key] } };
    const break_glass = { approvers: ["ana"], required: 1, review_hours: 72 };
    const { service, page } = await startWithPasskey({ approvers: ["ana", "bo"], break_glass }, { others });
    const id = await service.propose();
    await visit(page, localhostUrl(service), `changes/${id}`);
    await page.getByText("In an emergency", { exact: true }).click();
    await button(page, "Approve as an emergency…").click();
    await page.getByLabel("Note").fill("Uploads fail.");
    await page.getByText("ana approves as an emergency: set limits.uploads for t1, with your note.").waitFor();
    await button(page, "Approve as an emergency with your key").click();
    await page.getByText("Your emergency consent is recorded").waitFor();
    const [{ statement }] = await readDecisions(service, id);
    expect(JSON.parse(statement)).toMatchObject({ decision: "approve_emergency", note: "Uploads fail." });
  });

  test("a freeze, its lifting and an emergency review are signed", async () => {
    const signer = sshSigner("ssh-ed25519");
    const bo = { kind: "person", keys: [signer.key] };
    const break_glass = { approvers: ["bo"], required: 1, review_hours: 72 };
    const { service, page } = await startWithPasskey({ break_glass }, { others: { bo } });
    const readLatestDetail = async (query: string) =>
      JSON.parse((await service.get(`api/product/audit?${query}`)).entries.at(-1).detail);

    await visit(page, localhostUrl(service), "settings");
    await button(page, "Stop…").click();
    await button(page, "Freeze…").click();
    await page.getByLabel("Note").fill("The ledger is audited.");
    await page.getByLabel("Until").fill("2099-01-01T08:00");
    await page.getByText("ana freezes the service, with your note.").waitFor();
    expect(await findSerious(page, "signed freeze")).toEqual([]);
    await button(page, "Freeze with your key").click();
    await button(page, "Lift the freeze…").click();
    const frozen = await readLatestDetail("event_type=service_frozen");
    expect(frozen).toMatchObject({ actor: "ana", authenticated: "signature" });
    expect(JSON.parse(frozen.statement)).toMatchObject({ decision: "freeze", until: "2099-01-01T08:00:00.000Z" });
    await button(page, "Lift it with your key").click();
    await button(page, "Lift the freeze…").waitFor({ state: "detached" });
    expect(await readLatestDetail("event_type=service_unfrozen")).toMatchObject({
      actor: "ana",
      authenticated: "signature",
    });

    const change_id = await service.propose();
    const decision = { change_id, approver: "bo", note: "Uploads fail." };
    const signable = { ...decision, decision: "approve_emergency" };
    const { statement } = await service.post("api/product/consent-statement", signable);
    const proof = JSON.stringify(signer.sign(statement));
    const { at } = JSON.parse(statement);
    await service.post("api/product/approve", { ...decision, emergency: "true", proof, at });
    await visit(page, localhostUrl(service), `changes/${change_id}`);
    await button(page, "Not justified…").click();
    await page.getByText("ana does not accept the emergency consent: set limits.uploads for t1.").waitFor();
    await button(page, "Not justified with your key").click();
    await page.getByText("Your review is recorded: not justified.").waitFor();
    const reviewed = await readLatestDetail(`change_id=${change_id}`);
    expect(reviewed).toMatchObject({ approver: "ana", authenticated: "signature", verdict: "not_accepted" });
    expect(JSON.parse(reviewed.statement)).toMatchObject({ decision: "review", verdict: "not_accepted" });
  });

  test("people whom the intent lists for apply, rollback and KPI feeds sign these actions", async () => {
    const permissions = { apply: ["ana"], rollback: ["ana"], feed_kpis: ["ana"] };
    const { service, page } = await startWithPasskey({ permissions });
    const id = await service.propose({ target: "limits.signed" });
    await visit(page, localhostUrl(service), `changes/${id}`);
    await button(page, "Approve with your key").click();
    for (const [action, confirmation] of [
      ["Apply", "The change is applied and verified."],
      ["Restore the consented value", "The consented value is restored."],
      ["Roll back", "The change is rolled back."],
    ] as const) {
      if (action.startsWith("Restore")) {
        writeFileSync(
          service.config,
          readFileSync(service.config, "utf8").replace('"limits.signed": 25', '"limits.signed": 7'),
        );
        await service.post("api/action/run-now", { action: "check_drift" });
      }
      await button(page, `${action}…`).click();
      await page.getByLabel("Note").fill("As agreed.");
      await button(page, `${action} with your key`).click();
      await page.getByText(confirmation).waitFor();
    }
    const { entries } = await service.get(`api/product/audit?change_id=${id}`);
    const actions = entries.filter(({ detail }: { detail: string }) => JSON.parse(detail).note === "As agreed.");
    expect(actions.map(({ detail }: { detail: string }) => JSON.parse(detail))).toMatchObject(
      ["apply", "restore", "rollback"].map(() => ({ actor: "ana", authenticated: "signature" })),
    );
    await visit(page, localhostUrl(service), "kpis");
    await button(page, "Enter KPI values…").click();
    await page.getByLabel("Incident rate").fill("0.02");
    await page.getByText("ana enters these KPI values.").waitFor();
    expect(await findSerious(page, "signed feed")).toEqual([]);
    await button(page, "Save with your key").click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const fed = (await service.get("api/product/audit?event_type=kpi_refreshed")).entries.at(-1);
    expect(JSON.parse(JSON.parse(fed.detail).statement)).toMatchObject({
      decision: "feed_kpis",
      kpis: { incident_rate: 0.02 },
    });
  });

  inFull(test)("a late rationale is signed", async () => {
    const { service, page } = await startWithPasskey(
      { approvers: ["ana", "bo"] },
      { others: { bo: { kind: "person" } } },
    );
    const change_id = await service.propose({ rationale: "" });
    await visit(page, localhostUrl(service), `changes/${change_id}`);
    await button(page, "Deny…").click();
    await button(page, "Deny with your key").click();
    await button(page, "Add a late rationale…").click();
    await page.getByRole("textbox", { name: "Rationale" }).fill("Support asked for it.");
    await page.getByText("ana adds this late rationale.").waitFor();
    expect(await findSerious(page, "signed late rationale")).toEqual([]);
    await button(page, "Add a late rationale with your key").click();
    await page.getByText("Added later by ana").waitFor();
    const { entries } = await service.get(`api/product/audit?change_id=${change_id}`);
    const detail = JSON.parse(entries.at(-1).detail);
    expect(detail).toMatchObject({ actor: "ana", item: "rationale", authenticated: "signature" });
    expect(JSON.parse(detail.statement)).toMatchObject({ decision: "note", item: "rationale", approver: "ana" });
  });

  inFull(test)("the page of a person's keys lists them and makes no second passkey on one device", async () => {
    const { page } = await startWithPasskey();
    await page.reload();
    await page.getByText("Passkey of localhost").waitFor();
    expect(await findSerious(page, "your keys")).toEqual([]);
    await button(page, "Make a passkey").click();
    await page.getByText("This device has a passkey for this address already").waitFor();
  });
});
