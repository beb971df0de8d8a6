/** Formats a notification for its receiver: JSON, Slack's blocks, or a card for Teams. */
import { shorten } from "../../kit/quote.ts";
import type { Notification } from "./notification.ts";

export const NOTIFY_FORMATS = ["json", "slack", "teams"] as const;
export type NotifyFormat = (typeof NOTIFY_FORMATS)[number];

/** Formats the body to post. */
export const formatBody: Readonly<Record<NotifyFormat, (notification: Notification) => string>> = {
  json: (notification) => JSON.stringify(notification),
  slack: (notification) => JSON.stringify(buildSlackMessage(notification)),
  teams: (notification) => JSON.stringify(buildTeamsMessage(notification)),
};

const OPEN = "Open in Countersign";

/** Formats the context of a notification, for readers with several products in one channel. */
const formatContext = ({ instance_id, type, data }: Notification): string =>
  [instance_id, type, data.change?.change_id].filter(Boolean).join(" · ");

/** Maximum length of a shortened text. Slack accepts 3,000 characters in a block, and an escaped `&` needs five of them. */
const MAX_SLACK_CHARACTERS = 590;

/** Builds the message for an incoming webhook. Plain text has no formatting, links or mentions; the button is a link. */
function buildSlackMessage(notification: Notification): object {
  const { text, url } = notification;
  const plain = (words: string) => ({ type: "plain_text", text: escapeSlack(words), emoji: false });
  return {
    text: escapeSlack(text),
    blocks: [
      { type: "section", text: plain(text) },
      { type: "context", elements: [plain(formatContext(notification))] },
      ...(url === undefined ? [] : [{ type: "actions", elements: [{ type: "button", text: plain(OPEN), url }] }]),
    ],
  };
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/**
 * Escapes text, in which Slack interprets `<!channel>`, `<@U1>`, `<https://…|text>` and three entities; shortens text that Slack
 * would reject as too long.
 */
function escapeSlack(text: string): string {
  const escaped = text.replace(/[&<>]/g, (character) => ENTITIES[character]!);
  return escaped.length <= MAX_SLACK_CHARACTERS * 5 ? escaped : escapeSlack(shorten(text, MAX_SLACK_CHARACTERS));
}

/** Builds the message for a Workflows webhook, an Adaptive Card. Text runs have no Markdown, unlike text blocks. */
function buildTeamsMessage(notification: Notification): object {
  const { text, url } = notification;
  const runs = (words: string, style: object) => ({
    type: "RichTextBlock",
    inlines: [{ type: "TextRun", text: words, ...style }],
  });
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    msteams: { width: "Full" },
    body: [runs(text, {}), runs(formatContext(notification), { size: "Small", isSubtle: true })],
    ...(url === undefined ? {} : { actions: [{ type: "Action.OpenUrl", title: OPEN, url }] }),
  };
  return {
    type: "message",
    attachments: [{ contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content }],
  };
}
