import { getText } from "../../core/api.ts";
import { useResource } from "../../core/resource.tsx";
import { Failure } from "../../parts/notice.tsx";

/** The address of a self-evolution file. */
export const pathOf = (file: string): string => `api/evolved/${encodeURIComponent(file)}`;

/**
 * A picture that the service drew. As an image it can run nothing and load nothing, whatever stands in it. Where it would be
 * too small to read it is moved sideways.
 */
export const Drawn = ({ svg, told }: { svg: string; told: string }) => (
  <div class="drawn" tabIndex={0} role="region" aria-label="The picture">
    <img alt={told} src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`} />
  </div>
);

/** The picture beside a report, read when it is looked at. */
export function Picture({ file, told }: { file: string; told: string }) {
  const { data, error } = useResource(`evolved ${file}`, (signal) => getText(pathOf(file), {}, signal), {
    concerns: () => false,
  });
  return data === undefined ? <Failure error={error} /> : <Drawn svg={data} told={told} />;
}
