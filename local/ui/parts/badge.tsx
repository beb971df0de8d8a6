/** Icons next to status words, so that colour is never the only difference. */
import type { JSX } from "preact";
import type { Badge, Shape } from "../domain/statuses.ts";

const SHAPES: Readonly<Record<Shape, JSX.Element>> = {
  ring: <circle cx="8" cy="8" r="5.5" />,
  quarter: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path class="fill" d="M8 8V2.5A5.5 5.5 0 0 1 13.5 8z" />
    </>
  ),
  half: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path class="fill" d="M8 2.5a5.5 5.5 0 0 1 0 11z" />
    </>
  ),
  full: <circle class="fill" cx="8" cy="8" r="5.5" />,
  back: <path d="M5.5 3.5L2.5 6.5l3 3M3 6.5h6a4 4 0 0 1 0 7H6.5" />,
  cross: <path d="M4 4l8 8M12 4l-8 8" />,
  check: <path d="M3 8.5l3.5 3.5L13 4.5" />,
  bang: (
    <>
      <path d="M8 2.2L14.6 13.8H1.4z" />
      <path d="M8 6.5v3.2M8 11.4v.8" />
    </>
  ),
  dash: <path d="M3 8h10" />,
};

export const Icon = ({ shape }: { shape: Shape }) => (
  <svg class="sign" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    {SHAPES[shape]}
  </svg>
);

export const StatusBadge = ({ of: { word, shape, tone } }: { of: Badge }) => (
  <span class={`mark ${tone}`}>
    <Icon shape={shape} />
    {word}
  </span>
);
