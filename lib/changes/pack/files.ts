/** An auditor's pack as files: entries, contents, intents, certificates, and a README that says how to check them. */
import { readCheckpoint } from "../../audit/checkpoint.ts";
import { entryLine } from "../../audit/entry.ts";
import { type WitnessDeps, readWitnessStates, appendCosignatures } from "../../audit/request_cosignatures.ts";
import { AppError } from "../../kit/errors.ts";
import { createCertifier } from "../certificate.ts";
import { canonicalContent } from "../rules/content.ts";
import { formatReadme } from "./readme.ts";
import { readScopeChanges, readScopeEntries, listIntents, type Scope } from "./scope.ts";
import type { PackFile } from "./tar.ts";

/** Yields the files of a pack. */
export async function* packFiles(deps: WitnessDeps, scope: Scope): AsyncGenerator<PackFile, undefined> {
  const { store } = deps;
  yield { name: "README.txt", text: formatReadme(scope) };
  const intents = new Set<string>();
  let number = 0;
  for await (const page of readScopeEntries(store, scope)) {
    const name = `entries/${String(++number).padStart(6, "0")}.jsonl`;
    yield { name, text: page.map(({ text }) => entryLine(text)).join("") };
    for (const hash of listIntents(page)) {
      if (intents.has(hash)) continue;
      intents.add(hash);
      const manifest = (await store.get("manifests", hash))?.value;
      if (manifest !== undefined) yield { name: `intents/${hash}.json`, text: manifest };
    }
  }
  // The intents are files of their own, each once.
  const makeCertificate = createCertifier(deps, { withIntents: false });
  for await (const recorded of readScopeChanges(store, scope)) {
    const { change } = recorded;
    const id = toFileName(change.change_id);
    yield { name: `contents/${id}${change.erased ? ".erased" : ""}.json`, text: canonicalContent(change) };
    yield createCertificateFile(id, await makeCertificate(recorded).catch(toReportedError));
  }
  // The checkpoint is read last, so that it covers all entries of the pack.
  const { note } = await readCheckpoint(deps);
  yield { name: "checkpoint.txt", text: appendCosignatures(note, await readWitnessStates(deps)) };
  return undefined;
}

/** Returns the reason for a missing certificate; the rest of the pack is useful without it. */
function toReportedError(error: unknown): Error {
  if (error instanceof AppError) return error;
  throw error;
}

const createCertificateFile = (id: string, certificate: string | Error): PackFile =>
  typeof certificate === "string"
    ? { name: `certificates/${id}.certificate`, text: certificate }
    : { name: `certificates/${id}.none.txt`, text: `${certificate.message}\n` };

/** Converts an id to a valid file name, short enough for an archive; ids of this service are valid already. */
const toFileName = (changeId: string): string => changeId.replace(/[^A-Za-z0-9._-]/g, "_").slice(0, 60);
