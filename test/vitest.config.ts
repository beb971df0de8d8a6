import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";
import { makeRunFolder } from "./support/folders.ts";
import { QuietRun } from "./support/quiet_run.ts";
import { ProjectTimes } from "./support/project_times.ts";
import { Watchdog } from "./support/watchdog.ts";

const IN_A_BROWSER = "test/ui/decisions.test.ts";
/** Every page for everybody, mistakes, slow lines, lost connections, `npm run dev`: `npm run test:console`. */
const LONG_IN_A_BROWSER =
  "test/ui/{agent,audit,away,certificate,consent,dev,docs,emergency,everybody,faults,find,load,messages,mistakes,mounted,newcomer,on_record,pages,protected,undo}.test.ts";
/** Has no short form: `npm run test:long`. */
const LONG_ALONE =
  "test/{bundles,deployments,package,docs/{audit_details,claims,code,harness},e2e/{backup,clock,exit_when_read_only,mcp,npm_signals,signals,two_processes,witnesses},lib/{audit/damage,changes/{moving/{between_stores,broken_moves,durable_objects},integrity_scan,proofs/verify},chat/{memory_speed,responder},client/{paths,platforms},find/month,mcp/{conformance,tasks},memory/queries,openapi/{lint,valid},operations/{due_cycle,month_figures,no_record},projections/history,store/{contract,postgres/{fence,store}}},local/{certificate,command_line/signing,contents,demo,erase,example_host,file_adapter/crash,late_note,link/python_peer,moving/files,start,store/{backup,recovery,segments},targets/unleash,verify_losses,verify_names,verify/lost_consents},support/watchdog}.test.ts";

/** Runs the client generators of other projects: `npm run test:long`. */
const GENERATORS = "test/lib/openapi/clients.test.ts";

/** Has a short form too, but one that starts a host of its own: `npm run test:long` runs both. */
const HOSTS =
  "test/{contract/{http_edge,http_express,http_hono,http_lambda},e2e/{tampering,openfeature,postgres,process,refused_start,link},lib/{hosts/{edge,edge_reset,lambda_functions},openapi/contract,projections/project,store/{durable_object,dynamodb_faults,postgres_faults,several_as_one,shared_service,dynamodb/store}},local/{verify,verify/{fuzz,forged},verify_proofs,targets/{file/model,postgres,etcd,lives},link/siege,moving/shared},tamper/{damage,table}}.test.ts";

/** The other test files that import what tells the two lengths apart. */
const OF_BOTH_LENGTHS = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts") && !file.startsWith("ui"))
  .filter((file) => readFileSync(join(import.meta.dirname, file), "utf8").includes('/support/length.ts"'))
  .map((file) => join("test", file));

const reporters = [new Watchdog(), new ProjectTimes(), new QuietRun()];
/** As a plugin, so that a reporter named on the command line does not replace them. */
const always: Plugin = {
  name: "reporters that are always there",
  configureVitest({ vitest: { config } }) {
    for (const reporter of reporters) if (!config.reporters.includes(reporter)) config.reporters.push(reporter);
  },
};

/** What tests write goes where temporary files go for them, and with the run. */
const env = { TMPDIR: makeRunFolder(), TEST_LENGTH: "short" };
/** What is long takes its time, on a slow machine three times as much. */
const PATIENT_MS = 180_000;
const LONG = { ...env, TEST_LENGTH: "long" };
const root = join(import.meta.dirname, "..");
const project = (
  name: string,
  include: string[],
  over: { exclude?: string[]; env?: Record<string, string>; testTimeout?: number } = {},
) => ({
  root,
  plugins: [always],
  test: {
    name,
    include,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxWorkers: Math.max(2, availableParallelism() - 1),
    env,
    // Files share their worker's modules: loading the same ones for each file took longer than most files' tests.
    isolate: false,
    ...over,
  },
});

export default defineConfig({
  root,
  test: {
    projects: [
      project("console", [IN_A_BROWSER]),
      project("console-long", [LONG_IN_A_BROWSER, IN_A_BROWSER], { env: LONG, testTimeout: PATIENT_MS }),
      project("service", ["test/**/*.test.ts"], {
        exclude: [IN_A_BROWSER, LONG_IN_A_BROWSER, LONG_ALONE, GENERATORS, HOSTS],
      }),
      project("hosts", [HOSTS], { testTimeout: PATIENT_MS }),
      project("long", [...OF_BOTH_LENGTHS, LONG_ALONE, GENERATORS], { env: LONG, testTimeout: PATIENT_MS }),
    ],
  },
});
