/** Tests which secrets are accepted from a variable or a file. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parseOptions } from "../../local/options.ts";
import { readSecret } from "../../local/secrets.ts";

const folder = mkdtempSync(join(tmpdir(), "secrets-"));
const path = join(folder, "secret");
afterAll(() => rmSync(folder, { recursive: true }));

const readFromVariable = (text: string) => readSecret({ X: text }, "X");
const readFromFile = (text: string) => {
  writeFileSync(path, text);
  return readSecret({ X_FILE: path }, "X");
};

function catchError(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error("expected an error");
}

const REJECTED = [
  ['"pa55"', "quotation marks"],
  ["'pa55'", "quotation marks"],
  ["“pa55”", "quotation marks"],
  ["„pa55“", "quotation marks"],
  ["‘pa55’", "quotation marks"],
  ["«pa55»", "quotation marks"],
  ["`pa55`", "quotation marks"],
  ['"pa55', "quotation marks"],
  ["pa55'", "quotation marks"],
  ['"', "quotation marks"],
  ["SVC_ADMIN_TOKEN=pa55", "the secret alone"],
  ['SVC_ADMIN_TOKEN="pa55"', "the secret alone"],
  ["export X=pa55", "the secret alone"],
  ['export X="pa55"', "the secret alone"],
  ["\uFEFFpa55", "byte order mark"],
  ['\uFEFF"pa55"', "byte order mark"],
  ["pa55 ", "white space"],
  [' "pa55" ', "white space"],
  ["\u00A0pa55", "white space"],
  ["pa55\tdef", "control or invisible characters"],
  ["pa55\u0000", "control or invisible characters"],
  ["pa55\u200B", "control or invisible characters"],
  ["pa55\ndef", "control or invisible characters"],
  ["pa55\n\n", "control or invisible characters"],
  ["pa55\r\n\r\n", "control or invisible characters"],
] as const;

describe("a malformed secret is rejected, and the error does not contain it", () => {
  test.each(REJECTED)("%j", (text, rule) => {
    for (const [read, source] of [
      [readFromVariable, "X must "],
      [readFromFile, `X_FILE ${path} must `],
    ] as const) {
      const error = catchError(() => read(text));
      expect(error).toMatchObject({ exitCode: 1, message: expect.stringContaining(rule) });
      expect(error.message.startsWith(source)).toBe(true);
      expect(error.message).not.toContain("pa55");
    }
  });
});

test.each(["abc", "a b", 'a"b', "YWJjZA==", "QUJD=", "a=b", "whsec_YWJj=", "https://hooks.example/x?TOKEN=1", "clé"])(
  "the secret %j is accepted, with or without a line end in its file",
  (text) => {
    expect([
      readFromVariable(text),
      readFromFile(text),
      readFromFile(`${text}\n`),
      readFromFile(`${text}\r\n`),
    ]).toEqual(Array(4).fill(text));
  },
);

test("each secret of the link is checked", () => {
  for (const [text, rule] of [
    ['0123456789abcdef,"fedcba9876543210"', "--cross-link-secret must not be in quotation marks"],
    ["LINK_SECRET=0123456789abcdef", "--cross-link-secret must be the secret alone"],
  ] as const) {
    expect(() => parseOptions([`--cross-link-secret=${text}`], {})).toThrow(rule);
    // An option separates secrets by commas, a file by line ends.
    writeFileSync(path, text.replace(",", "\r\n"));
    expect(() => parseOptions([`--cross-link-secret-file=${path}`], {})).toThrow(
      `--cross-link-secret-file ${path}: its content ${rule.slice(rule.indexOf("must"))}`,
    );
  }
});
