/** What may stand in a picture, and what an erasure leaves of it; that its figures are right, report_agrees.test.ts holds. */
import { expect, test } from "vitest";
import { kpiPanel } from "../../../../lib/pulse/picture/kpi_panel.ts";
import { picture } from "../../../../lib/pulse/picture/svg.ts";
import { DAY } from "../../../support/clock.ts";
import { filesInMemory, pulse } from "../pulse_service.ts";

const WEEK = 7 * DAY;
const SPAN = { from: Date.parse("2026-01-05T00:00:00.000Z"), to: Date.parse("2026-01-05T00:00:00.000Z") + 8 * WEEK };

test("what people wrote stays text: no markup, no script, no second line, nothing that XML forbids", () => {
  const evil = '</text><script>alert(1)</script><image href="https://x.example/p.png"/>"\n<text>\ufffe\u202e\ud800';
  const drawn = {
    kpi: evil,
    fed: [{ at: SPAN.from + DAY, value: 1 }],
    target: null,
    marks: [{ change_id: evil, what: "applied" as const, name: evil, at: SPAN.from + DAY }],
  };
  const svg = picture({ width: 1, height: 1, title: evil, description: evil }, kpiPanel(drawn, SPAN, 0).parts);
  expect(svg.match(/<\/?[a-z]+/g)!.filter((tag) => !/^<\/?(svg|title|desc|style|path|text|circle)$/.test(tag))).toEqual(
    [],
  );
  expect(svg).not.toMatch(/[\ufffe\u202e]|[\ud800-\udfff]|href="|url\(/);
  for (const line of svg.trim().split("\n")) expect(line).toMatch(/^<.*>$/);
  expect(svg.match(/ data-change="/g)).toHaveLength(1);
});

test("of very many feeds, marks and long names a picture is bounded, and says what it leaves out", () => {
  const marks = Array.from({ length: 500 }, (_, index) => ({
    change_id: `chg_${index}`,
    what: index % 2 === 0 ? ("applied" as const) : ("rolled back" as const),
    name: "t".repeat(400),
    at: SPAN.from + index * 1000,
  }));
  const fed = Array.from({ length: 56 }, (_, day) => ({
    at: SPAN.from + day * DAY,
    value: day % 7 === 0 ? 1.7e308 : 0.1,
  }));
  const { parts } = kpiPanel({ kpi: "k".repeat(64), fed, target: -1.7e308, marks }, SPAN, 0);
  const svg = parts.join("\n");
  expect(svg.length).toBeLessThan(20_000);
  expect(svg).toContain(">490 earlier ones are not marked<");
  expect(svg.match(/data-change="[^"]*"/g)!.at(-1)).toBe('data-change="chg_499"');
  expect(svg).not.toMatch(/NaN|Infinity/);
});

test("a KPI that was not fed in the weeks that are drawn has no line, and says when it was", () => {
  const fed = [{ at: SPAN.from - DAY, value: 2 }];
  const svg = kpiPanel({ kpi: "csat", fed, target: 2, marks: [] }, SPAN, 0).parts.join("\n");
  expect(svg).toContain(">last fed 2026-01-04 00:00, before these weeks<");
  expect(svg).not.toMatch(/<circle|stroke accent/);
});

test("an erased change stays marked where it was, without its words", async () => {
  const files = filesInMemory();
  const service = await pulse({ evolved: files });
  await service.post("kpi", { csat: 4 });
  const kept = await service.bring("applied", { kpi: "csat", expected_delta_k: 1, target: "ui.kept" });
  const gone = await service.bring("rolled_back", { kpi: "csat", expected_delta_k: 1, target: "ui.gone" });
  await service.post("/api/action/run-now", { action: "write_report" });
  const [name] = [...files.texts.keys()].filter((file) => file.endsWith(".svg")).slice(-1);
  const drawn = files.texts.get(name!)!;
  expect(drawn).toMatch(/>ui\.gone of t1, applied [^<]*<[^]*>ui\.gone of t1, rolled back [^<]*</);
  expect((await service.post("erase", { change_id: gone, actor: "dpo" })).status).toBe(200);
  await service.cycle();
  const left = files.texts.get(name!)!;
  expect(left.match(new RegExp(`data-change="${gone}">its content was erased<`, "g"))).toHaveLength(2);
  expect(left).not.toContain("ui.gone");
  expect(left).toContain(`data-change="${kept}">ui.kept of t1, applied `);
  const shapes = (svg: string) => svg.split("\n").filter((line) => !line.startsWith("<text"));
  expect(shapes(left)).toEqual(shapes(drawn));
});
