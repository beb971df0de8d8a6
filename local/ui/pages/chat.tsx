/** Asks the service, in words; shows what each answer was made of, and what it remembers. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ChatAnswer } from "../core/api_types.ts";
import { useTitle, useValue } from "../core/hooks.tsx";
import { useResource } from "../core/resource.tsx";
import { changeHref, href } from "../core/router.tsx";
import { personName } from "../core/session.ts";
import { readChat, type Said } from "../domain/chat_log.ts";
import { listQueries } from "../domain/find_answer.ts";
import { Pending } from "../parts/notice.tsx";
import { PageHead, Panel } from "../parts/panel.tsx";
import { Given, Prose, ShortId } from "../parts/text.tsx";
import { Age } from "../parts/time.tsx";
import { Ask, type OnAnswer } from "./chat/ask.tsx";
import { Memory } from "./chat/memory.tsx";
import { Provenance } from "./chat/provenance.tsx";

/** Chat and memory. */
export function ChatPage() {
  const name = useValue(personName);
  const read = (signal: AbortSignal) => readChat(name, signal);
  const {
    data: said,
    error,
    reload,
  } = useResource(`chat of ${name}`, read, { concerns: (news) => news?.type === "tick" });
  const [answers, setAnswers] = useState<Readonly<Record<string, ChatAnswer>>>({});
  const onAnswer: OnAnswer = async (answer) => {
    setAnswers((known) => ({ ...known, [answer.reply.id]: answer }));
    await reload();
  };
  useTitle("Chat and memory");
  return (
    <>
      <PageHead
        title="Chat and memory"
        lead="Answers come from the records and name them. Nothing is approved, applied or rolled back from here."
      />
      <div class="columns">
        <Panel title="Conversation" class="conversation">
          {!said && <Pending error={error} what="the conversation" />}
          {said && (
            <>
              <Log said={said} answers={answers} onAnswer={onAnswer} />
              <Ask onAnswer={onAnswer} />
            </>
          )}
        </Panel>
        <Memory />
      </div>
    </>
  );
}

interface LogProps {
  said: readonly Said[];
  answers: Readonly<Record<string, ChatAnswer>>;
  onAnswer: OnAnswer;
}

function Log({ said, answers, onAnswer }: LogProps) {
  const log = useRef<HTMLDivElement>(null);
  const newest = said.at(-1)?.id;
  // A long answer is read from its question on.
  useEffect(() => {
    const shown = log.current;
    const asked = [...(shown?.querySelectorAll("li.user") ?? [])].at(-1);
    if (shown && asked) shown.scrollTop += asked.getBoundingClientRect().top - shown.getBoundingClientRect().top - 8;
  }, [newest]);
  if (said.length === 0)
    return (
      <p class="quiet">
        Nothing was said yet. Ask what waits, why a change was made, how the KPIs stand, or what failed.
      </p>
    );
  return (
    <div class="log" role="log" ref={log} tabIndex={0} aria-label="Conversation">
      <ol>
        {said.map((one) => (
          <li key={one.id} class={one.role}>
            <p class="quiet by">
              {one.role === "assistant" ? (
                one.mode === "llm" ? (
                  "The model, unverified"
                ) : (
                  "The service, by rules"
                )
              ) : (
                <Given text={one.author || "Somebody"} />
              )}
              , {one.at && <Age at={one.at} />}
            </p>
            <Prose text={one.text} />
            {one.role === "assistant" && <Queries of={listQueries(one.text)} />}
            <Citations of={one.citations} />
            {answers[one.id] && <Provenance answer={answers[one.id]!} onAnswer={onAnswer} />}
          </li>
        ))}
      </ol>
    </div>
  );
}

/** The queries of a reply, to run them again or to go on from them. */
const Queries = ({ of }: { of: readonly string[] }) =>
  of.length === 0 ? null : (
    <p class="citations">
      <span class="quiet">In Find:</span>
      {of.map((query) => (
        <a key={query} href={href(["find"], { q: query })}>
          <Given text={query} code />
        </a>
      ))}
    </p>
  );

const Citations = ({ of }: { of: Said["citations"] }) =>
  of.length === 0 ? null : (
    <p class="citations">
      <span class="quiet">From:</span>
      {of.map(({ kind, id }) =>
        id.startsWith("chg_") ? (
          <a key={id} href={changeHref(id)}>
            {kind} <ShortId of={id} />
          </a>
        ) : (
          <span key={id}>
            <Given text={id.startsWith("mem_") ? `memory ${Number(id.slice(4))}` : `${kind} ${id}`} />
          </span>
        ),
      )}
    </p>
  );
