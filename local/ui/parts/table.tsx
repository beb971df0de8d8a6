import type { ComponentChildren } from "preact";

/** A row: its key, a cell for each column, and whether it is the chosen one. */
type TableRow = readonly [key: string | number, cells: readonly ComponentChildren[], chosen?: boolean];

/** A table whose rows become cards on a phone: each cell is named by its column there, and an empty one is left out. */
export const Table = ({
  columns,
  numbers = [],
  rows,
  caption,
  class: extra = "",
}: {
  columns: readonly string[];
  /** Columns of figures, which stand at the end of the line. */
  numbers?: readonly string[];
  rows: readonly TableRow[];
  /** Names the table for those who do not see it. */
  caption?: string;
  class?: string;
}) => (
  <table class={`cards ${extra}`}>
    {caption && <caption class="unseen">{caption}</caption>}
    <thead>
      <tr>
        {columns.map((name) => (
          <th key={name} scope="col" class={numbers.includes(name) ? "number" : undefined}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map(([key, cells, chosen]) => (
        <tr key={key} aria-current={chosen ? "true" : undefined}>
          {cells.map((cell, index) => (
            <td
              key={columns[index]}
              data-label={index === 0 ? undefined : columns[index]}
              class={cell === null ? "none" : numbers.includes(columns[index]!) ? "number" : undefined}
            >
              {cell ?? "–"}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
);
