import type { ComponentChildren } from "preact";

/** A row: its key, a cell for each column, and whether it is the chosen one. */
type TableRow = readonly [key: string | number, cells: readonly ComponentChildren[], chosen?: boolean];

/** A table whose rows become cards on a phone: each cell is named by its column there, and an empty one is left out. */
export function Table(props: {
  columns: readonly string[];
  /** Columns of figures, which are aligned at their end. */
  numbers?: readonly string[];
  rows: readonly TableRow[];
  /** Names the table for screen readers. */
  caption?: string;
  class?: string;
}) {
  const { columns, numbers = [], rows, caption } = props;
  return (
    <table class={`cards ${props.class ?? ""}`}>
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
}
