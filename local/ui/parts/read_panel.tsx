import type { ComponentChildren } from "preact";
import { get, type Query } from "../core/api.ts";
import { useResource } from "../core/resource.tsx";
import { Pending } from "./notice.tsx";
import { Panel } from "./panel.tsx";

/** A panel of an answer of the service; `path` is below `api`. */
export function ReadPanel<T>(props: {
  title: string;
  path: string;
  query?: Query;
  children: (data: T, reload: () => Promise<void>) => ComponentChildren;
}) {
  const { title, path, query = {}, children } = props;

  const { data, error, reload } = useResource(path, (signal) => get<T>(`api/${path}`, query, signal));
  return (
    <Panel title={title}>{data ? children(data, reload) : <Pending error={error} what={title.toLowerCase()} />}</Panel>
  );
}
