/** Tests the auditor's pack of a change and of a period, as files and as a page, and the audit log as CSV. */
import { writeCsv } from "../../lib/audit/csv.ts";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { entryKey } from "../../lib/audit/chain.ts";
import { verifyCertificate } from "../../local/verify/certificate.ts";
import { sha256 } from "../../local/node_ports.ts";
import { HOUR } from "../support/clock.ts";
import { service, type TestService } from "../support/service.ts";

const MARKUP = `<script>alert("x")</script> & 'quoted'`;
const ACTIVE_MARKUP = /<(?:script|img|iframe|link|object|form|input|button|base|svg)\b/i;

let api: TestService;
let first: string;
let second: string;
let erased: string;
let between: string;
beforeAll(async () => {
  api = await service();
  first = await api.bring("rolled_back", {
    summary: MARKUP,
    rationale: MARKUP,
    value: JSON.stringify({ html: MARKUP }),
  });
  erased = await api.bring("denied", { summary: "Wombat" });
  await api.post("erase", { change_id: erased, actor: "dpo" });
  api.deps.clock.advance(HOUR);
  between = api.deps.clock.iso();
  second = await api.bring("denied", { target: "ui.other", tenant_id: "=cmd()|'/c calc'!A1" });
});

/** Returns the names and texts of the files in a tar archive of 512-byte blocks, and verifies each header. */
function untar(bytes: Buffer): Map<string, string> {
  const files = new Map<string, string>();
  for (let at = 0; bytes[at] !== 0;) {
    const text = (from: number, length: number) =>
      bytes.toString("latin1", at + from, at + from + length).split("\0")[0]!;
    const size = parseInt(text(124, 12), 8);
    // The checksum counts its own field as eight spaces.
    const sum = bytes
      .subarray(at, at + 512)
      .reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 32 : byte), 0);
    expect([text(257, 6), parseInt(text(148, 8), 8)]).toEqual(["ustar", sum]);
    files.set(text(0, 100), bytes.toString("utf8", at + 512, at + 512 + size));
    at += 512 * (1 + Math.ceil(size / 512));
  }
  return files;
}

async function download(path: string): Promise<Buffer> {
  const { app } = await import("../../handlers/index.ts");
  const response = await app(api.deps)(new Request(`${api.origin}/api/product/${path}`));
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

const downloadPack = async (query: string) => untar(await download(`pack?${query}`));
const parseLines = (text: string): unknown[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);

describe("a pack as files", () => {
  test("a change's pack has its entries, content, intent, certificate and checkpoint", async () => {
    const files = await downloadPack(`change_id=${first}`);
    const { digest, audit_entries } = await api.change(first);
    const { manifest_hash } = api.deps.product!;
    expect([...files.keys()]).toEqual([
      "README.txt",
      "entries/000001.jsonl",
      `intents/${manifest_hash}.json`,
      `contents/${first}.json`,
      `certificates/${first}.certificate`,
      "checkpoint.txt",
    ]);
    expect(parseLines(files.get("entries/000001.jsonl")!)).toEqual(audit_entries);
    expect(sha256(files.get(`contents/${first}.json`)!)).toBe(digest);
    expect(sha256(files.get(`intents/${manifest_hash}.json`)!)).toBe(manifest_hash);
    const report = verifyCertificate(Buffer.from(files.get(`certificates/${first}.certificate`)!), {
      acceptedManifests: [],
      furtherIntents: [files.get(`intents/${manifest_hash}.json`)!],
    });
    expect(report).toMatchObject({ change_id: first, verdict: "consistent", findings: [] });
    expect(files.get("checkpoint.txt")).toBe((await api.get("audit/checkpoint", { accept: "text/plain" })).text);
    for (const name of [...files.keys()].slice(1)) expect(files.get("README.txt")).toContain(name.split("/")[0]);
  });

  test("a period's pack has its entries, and each of their changes once", async () => {
    const early = await downloadPack(`from=2026-01-01T00:00:00Z&to=${between}`);
    const ids = [first, erased].sort();
    expect([...early.keys()].filter((name) => name.startsWith("certificates/"))).toEqual(
      ids.map((id) => `certificates/${id}.certificate`),
    );
    expect([...early.keys()].filter((name) => name.startsWith("contents/")).sort()).toEqual(
      [`contents/${first}.json`, `contents/${erased}.erased.json`].sort(),
    );
    const entries = await api.audit();
    const before = entries.filter(({ timestamp }) => timestamp < between);
    expect(parseLines(early.get("entries/000001.jsonl")!)).toEqual(before);
    const late = await downloadPack(`from=${between}`);
    expect(parseLines(late.get("entries/000001.jsonl")!)).toEqual(entries.slice(before.length));
    expect([...late.keys()].filter((name) => name.startsWith("contents/"))).toEqual([`contents/${second}.json`]);
    expect([...(await downloadPack("from=2030-01-01T00:00:00Z")).keys()]).toEqual(["README.txt", "checkpoint.txt"]);
  });

  test("a period over an accepted clock step includes changes recorded under the wrong clock", async () => {
    const other = await service();
    const from = other.deps.clock.iso();
    const early = await other.bring("denied");
    other.deps.clock.shift(40 * 24 * HOUR);
    const ahead = await other.bring("applied");
    other.deps.clock.shift(-40 * 24 * HOUR);
    await other.post("audit/accept-clock", { actor: "ops" });
    await other.act("rollback", ahead);
    await other.post("erase", { change_id: early, actor: "dpo" });
    other.deps.clock.advance(HOUR);
    const { text } = await other.get(`pack?from=${from}&to=${other.deps.clock.iso()}`);
    // Each name occurs once, so it splits the text into two parts.
    for (const name of [`contents/${ahead}.json`, `contents/${early}.erased.json`])
      expect(text.split(name), name).toHaveLength(2);
  });

  const folder = mkdtempSync(join(tmpdir(), "pack-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const tarMissing = spawnSync("tar", ["--version"]).status === 0 ? null : "there is no tar";
  test.skipIf(tarMissing)(`tar extracts a pack (${tarMissing ?? "tar is here"})`, async () => {
    writeFileSync(join(folder, "pack.tar"), await download("pack?from=2026-01-01T00:00:00Z"));
    const { status, stderr } = spawnSync("tar", ["-xf", "pack.tar"], { cwd: folder, encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    // Contents of the changes `first`, `erased` and `second`.
    expect(readdirSync(join(folder, "contents"))).toHaveLength(3);
    const { digest } = await api.change(first);
    expect(sha256(readFileSync(join(folder, `contents/${first}.json`), "utf8"))).toBe(digest);
  });

  test("a pack without a certificate says why, and is complete otherwise", async () => {
    const other = await service();
    const change_id = await other.bring("denied");
    await other.deps.store.transact(async (tx) => {
      const { value } = (await tx.get("changes", change_id))!;
      tx.put("changes", change_id, { ...value, change: { ...value.change, summary: "another" } } as never);
    });
    const text = (await other.get(`pack?change_id=${change_id}`)).text;
    expect(text).toContain(`certificates/${change_id}.none.txt`);
    expect(text).toContain("is not what was proposed; no certificate is made of it");
  });
});

describe("a pack as a page", () => {
  test.each(["change_id", "from"])("has no scripts, loads nothing, and escapes all texts (%s)", async (by) => {
    const query = by === "from" ? "from=2026-01-01T00:00:00Z" : `change_id=${first}`;
    const { text, headers } = await api.get(`pack?${query}&format=html`);
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-[^']+';/);
    expect(text).not.toMatch(ACTIVE_MARKUP);
    expect(text.match(/ (?:href|src|style|on\w+)=/gi)).toBeNull();
    expect(text).toContain("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#39;quoted&#39;");
    const { digest } = await api.change(first);
    for (const part of [digest, api.deps.product!.manifest_hash, "Rolled back", "countersign-verify certificate"])
      expect(text).toContain(part);
  });

  test("an action without a named actor is not attributed to the service", async () => {
    const change_id = await api.bring("applied", { target: "ui.unnamed" });
    const { text } = await api.get(`pack?change_id=${change_id}&format=html`);
    expect(text).toMatch(/<td>Applied<\/td><td>nobody is named<\/td>/);
    expect(text).not.toContain("the service</td>");
  });

  test("erased content is shown as erased", async () => {
    const { text } = await api.get(`pack?change_id=${erased}&format=html`);
    expect(text).toContain("It was erased on");
    expect(text).not.toContain("Wombat");
  });
});

test("a pack needs either an existing change or a valid period", async () => {
  for (const [query, status] of [
    ["", 400],
    [`change_id=${first}&from=2026-01-01T00:00:00Z`, 400],
    ["from=2026-01-02T00:00:00Z&to=2026-01-02T00:00:00Z", 400],
    ["from=yesterday", 400],
    ["change_id=chg_none", 404],
    ["change_id=chg_none&format=html", 404],
  ] as const)
    expect((await api.get(`pack?${query}`)).status, query).toBe(status);
});

test.each(["tar", "html"])("a log that does not verify has no pack: 503 chain_broken (%s)", async (format) => {
  const other = await service();
  const change_id = await other.bring("denied");
  await other.deps.store.transact(async (tx) => {
    const { value } = (await tx.get("audit", entryKey(2)))!;
    tx.put("audit", entryKey(2), { ...value, tenant: "another" });
  });
  expect((await other.get("audit/verify")).body.valid).toBe(false);
  for (const query of [`change_id=${change_id}`, "from=2026-01-01T00:00:00Z"])
    expect(await other.get(`pack?${query}&format=${format}`)).toMatchObject({
      status: 503,
      body: { code: "chain_broken" },
    });
});

describe("the log as CSV", () => {
  const FIELD = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;

  /** Parses CSV after RFC 4180, independently of the code under test. */
  function parseRows(text: string): string[][] {
    const rows: string[][] = [[]];
    for (FIELD.lastIndex = 0; FIELD.lastIndex < text.length;) {
      const [, quoted, plain, end] = FIELD.exec(text)!;
      rows.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain!);
      if (end === "\r\n") rows.push([]);
    }
    return rows.slice(0, -1);
  }

  test("begins with a byte order mark, and has no formulas with any usual separator", async () => {
    const other = await service();
    await other.propose({ tenant_id: 'a;=HYPERLINK("x");b' });
    const chunks: string[] = [];
    for await (const chunk of writeCsv(other.deps.store)) chunks.push(chunk);
    const text = chunks.join("");
    expect(text).toMatch(/^\ufefforigin,id,/);
    expect(text).toContain(`"a;'=HYPERLINK(""x"");b"`);
    // No cell begins with a character of formulas, unless an apostrophe precedes it.
    expect(text.split(/[;\t\r\n]/).filter((cell) => /^[ "']*[=+\-@]/.test(cell) && !/^[ "]*'/.test(cell))).toEqual([]);
  });

  test("has a heading and all entries, and no formulas", async () => {
    const { text, headers } = await api.get("audit?format=csv");
    expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
    const [heading, ...rows] = parseRows(text);
    const entries = await api.audit();
    expect(heading).toEqual(Object.keys(entries[0]));
    expect(rows).toHaveLength(entries.length);
    // An apostrophe precedes a character of formulas at the start of a cell, or after a separator in it.
    for (const [index, entry] of entries.entries())
      expect(rows[index]).toEqual(
        Object.values(entry).map((value) => String(value).replace(/(^|[;\t\r\n][ "']*)(?=[=+\-@])/g, "$1'")),
      );
    expect(rows.some((row) => row.some((cell) => cell.startsWith("'=cmd()")))).toBe(true);
    expect(rows.flat().filter((cell) => /^[=+\-@\t\r]/.test(cell))).toEqual([]);
  });
});
