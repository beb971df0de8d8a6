// settings_system.test.ts
import { test } from "node:test";
import { targetCases } from "countersign/testing";
import { settingsSystem } from "./settings_system.js";

for (const { name, run } of targetCases)
  test(name, () =>
    run(async () => {
      const rows = new Map<string, { text: string; version: string }>();
      const overwrite = ({ tenant_id, target }: { tenant_id: string; target: string }) =>
        void rows.set(JSON.stringify([tenant_id, target]), { text: '{ "by": "hand" }', version: "another" });
      return { system: settingsSystem(rows), overwrite };
    }),
  );
