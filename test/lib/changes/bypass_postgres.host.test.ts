/** An adversary with a login to the database edits managed rows: four times 250 edits of 100 rows in the full run. */
import { afterAll, describe, test } from "vitest";
import { postgresTarget } from "../../../local/targets/postgres.ts";
import { checkEditsAreRestored } from "../../support/edits_are_restored.ts";
import { rounds } from "../../support/run_length.ts";
import { startPostgres } from "../../support/postgres_server.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

// Values of the short, the long and the full run.
const [targetCount, editCount] = rounds<[number, number]>([20, 60], [40, 120], [100, 250]);
const seeds = rounds([13], [13], [13, 14, 15, 16]);

describe.skipIf(!server)("a Postgres column", () => {
  test.each(seeds)("each edit of an adversary is reported, and restored by the next cycle: seed %i", async (seed) => {
    const { pool, url } = server!;
    await pool.query("drop schema if exists app cascade; create schema app");
    await pool.query("create table app.settings (key text primary key, value jsonb)");
    await checkEditsAreRestored({ targets: targetCount, edits: editCount, seed }, () => ({
      system: postgresTarget({
        name: "settings",
        url,
        table: "app.settings",
        keyColumn: "key",
        valueColumn: "value",
        key: ({ target }) => target,
      }),
      async edit(edits) {
        const values = [...edits.values()].map((value) => JSON.stringify(value));
        await pool.query(
          "update app.settings set value = made.value::jsonb from unnest($1::text[], $2::text[]) made(key, value) where settings.key = made.key",
          [[...edits.keys()], values],
        );
      },
      async read() {
        const { rows } = await pool.query<{ key: string; value: unknown }>("select key, value from app.settings");
        return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
      },
    }));
  });
});
