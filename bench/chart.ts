/** The results as bars, for the README: an SVG that is readable on a light and a dark page. */
import type { Result } from "./job.ts";
import type { WorkloadName } from "./workloads.ts";

interface Bar {
  readonly label: string;
  readonly value: number;
  readonly kind: "ours" | "floor" | "peer";
}

const OURS = "toolstream bytes + input";

const LABELS: Readonly<Record<string, string>> = {
  [OURS]: "toolstream, live input read",
  "floor a": "written by hand, no live input",
  "assistant-stream, on the raw SDK": "assistant-stream",
};

/** One way to use each library; standalone parsers are left out, since they read no stream. */
const SHOWN = new Set([
  OURS,
  "floor a",
  "openai, raw",
  "openai, helper",
  "anthropic, raw",
  "anthropic, helper",
  "ai, streamText",
  "ai, UI messages",
  "langchain, concat",
  "tanstack, chat",
  "pi-ai, stream",
  "assistant-stream, on the raw SDK",
]);

const panels: readonly { readonly workload: WorkloadName; readonly wire: Result["wire"]; readonly title: string }[] = [
  { workload: "W1", wire: "openai-chat", title: "OpenAI Chat: small calls, 200 B" },
  { workload: "W2", wire: "openai-chat", title: "OpenAI Chat: one call, 64 KiB" },
  { workload: "W1", wire: "anthropic", title: "Anthropic Messages: small calls, 200 B" },
  { workload: "W2", wire: "anthropic", title: "Anthropic Messages: one call, 64 KiB" },
];

const WIDTH = 880;
const GAP = 40;
const PANEL = (WIDTH - GAP - 2 * 24) / 2;
const LABEL = 200;
const ROW = 20;

/** Longer bars are cut. */
const MOST = 25;

/** @returns `undefined` if the peers were not measured */
export function chartOf(results: readonly Result[]): string | undefined {
  const filled = panels.flatMap((panel) => {
    const bars = barsOf(results, panel);
    return bars.length === 0 ? [] : [{ ...panel, bars }];
  });
  if (filled.length === 0) return undefined;
  const parts: string[] = [];
  let top = 86;
  for (let index = 0; index < filled.length; index += 2) {
    const line = filled.slice(index, index + 2);
    for (const [column, { title, bars }] of line.entries()) {
      parts.push(panelOf(title, bars, 24 + column * (PANEL + GAP), top));
    }
    top += 34 + ROW * Math.max(...line.map(({ bars }) => bars.length)) + 22;
  }
  const height = top - 14;
  const caption =
    "Time from the bytes of a stream to its tool calls, as a multiple of a hand-written loop. Shorter is faster.";
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${caption}">
<style>
  text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
  .page { fill: #ffffff; stroke: #d1d9e0; }
  .gap { stroke: #ffffff; }
  .head { font-size: 16px; font-weight: 600; }
  .title { font-size: 13px; font-weight: 600; }
  .soft { fill: #59636e; }
  .ours { fill: #0969da; }
  .floor { fill: #818b98; }
  .peer { fill: #c8d1da; }
  .strong { font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .page { fill: #0d1117; stroke: #3d444d; }
    .gap { stroke: #0d1117; }
    .soft { fill: #9198a1; }
    .ours { fill: #4493f8; }
    .floor { fill: #9198a1; }
    .peer { fill: #4a525c; }
  }
</style>
<rect class="page" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8"/>
<text class="head" x="24" y="32">From bytes to tool calls</text>
<text class="soft" x="24" y="52">${caption}</text>
${parts.join("\n")}
</svg>
`;
}

function barsOf(results: readonly Result[], { workload, wire }: (typeof panels)[number]): Bar[] {
  return (
    results
      .filter(({ beside, packing }) => beside !== undefined && packing === "event")
      .filter((one) => one.workload === workload && one.wire === wire && SHOWN.has(one.row))
      // Ours and the floor are measured with both kinds of peers.
      .filter(({ row, beside }) => beside === "linear" || (row !== OURS && row !== "floor a"))
      .map(({ row, ratio }): Bar => {
        const kind = row === OURS ? "ours" : row === "floor a" ? "floor" : "peer";
        return { label: LABELS[row] ?? row, value: ratio, kind };
      })
      .toSorted((a, b) => a.value - b.value)
  );
}

function panelOf(title: string, bars: readonly Bar[], left: number, top: number): string {
  const room = PANEL - LABEL - 52;
  const most = Math.min(MOST, Math.max(...bars.map(({ value }) => value)));
  const lines = bars.map(({ label, value, kind }, index) => {
    const y = top + 14 + index * ROW;
    const isCut = value > most;
    const width = isCut ? room : Math.max(1, (value / most) * room);
    const strong = kind === "ours" ? " strong" : "";
    return [
      `<text class="${kind === "ours" ? "strong" : "soft"}" x="${left + LABEL - 8}" y="${y + 12}" text-anchor="end">${escaped(label)}</text>`,
      `<rect class="${kind}" x="${left + LABEL}" y="${y + 1}" width="${width.toFixed(1)}" height="${ROW - 6}" rx="2"/>`,
      ...(isCut ? [cut(left + LABEL + width - 16, y)] : []),
      `<text class="value${strong}" x="${(left + LABEL + width + 6).toFixed(1)}" y="${y + 12}">${value.toFixed(value < 10 ? 2 : 0)}x</text>`,
    ].join("\n");
  });
  return [`<text class="title" x="${left}" y="${top}">${escaped(title)}</text>`, ...lines].join("\n");
}

/** A gap, which shows that the bar is cut. */
function cut(x: number, y: number): string {
  return `<path class="gap" d="M${x.toFixed(1)} ${y + ROW - 4} l6 -${ROW - 4}" stroke-width="3"/>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
