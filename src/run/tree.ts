import { cut } from "../errors.ts";
import type { CallRecord, OutcomeRecord, Row, TurnRow } from "./format.ts";
import { outcomesAt } from "./rows.ts";

/** One thing that happened in a conversation, with what happened inside it. */
export interface TreeNode {
  /** Unique in the tree: a run's id, a call's invocation id. */
  readonly id: string;
  readonly parentId: string | null;
  readonly kind: "run" | "turn" | "call";
  readonly label: string;
  /**
   * A run's status, why a turn ended, or a call's outcome: `completed`, `failed`, `denied`, `unknown`, `invalid`,
   * `canceled`, `expired`, or `open`.
   */
  readonly status: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Milliseconds; `null` if it is not over or was not measured. */
  readonly durationMs: number | null;
  /** What the model said, or why a call failed, shortened. */
  readonly detail?: string;
  readonly children: readonly TreeNode[];
}

/** Everything that happened in the runs of a conversation. */
export interface ExecutionTree {
  readonly runs: readonly TreeNode[];
  /** For a terminal. */
  toText(): string;
  /** A Mermaid flowchart. */
  toMermaid(): string;
}

/**
 * @param status of the last run; earlier ones are over
 * @param open outcomes of the last turn's calls, if others of them are open
 */
export function treeOf(rows: readonly Row[], status: string, open?: readonly OutcomeRecord[]): ExecutionTree {
  const runs: RunNode[] = [];
  /** Where the rows of each run begin. */
  const starts: number[] = [];
  for (const [index, row] of rows.entries()) {
    const run = runs.at(-1);
    if (row.kind === "input") {
      const { runId: id, at: startedAt } = row;
      const time = { startedAt, durationMs: null };
      starts.push(index);
      runs.push({ id, parentId: null, kind: "run", label: "run", status: "completed", ...time, children: [] });
    } else if (row.kind === "turn" && run !== undefined) {
      run.children.push(turnNode(row, run, outcomesAt(rows, index, open)));
    }
  }
  const last = runs.length - 1;
  const dated = runs.map((run, index) => ({
    ...run,
    status: index === last ? status : run.status,
    // The clock may have been set back since the run started.
    durationMs: Math.max(0, endOf(rows.slice(starts[index], starts[index + 1]), run, runs[index + 1]) - run.startedAt),
  }));
  // Not enumerable, so that a result can still be printed, cloned and sent.
  return Object.defineProperties({ runs: dated } as unknown as ExecutionTree, {
    toText: { value: () => textOf(dated) },
    toMermaid: { value: () => mermaidOf(dated) },
  });
}

type RunNode = TreeNode & { readonly children: TreeNode[] };

function turnNode(row: TurnRow, run: RunNode, outcomes: readonly OutcomeRecord[]): TreeNode {
  const byCall = new Map(outcomes.map((outcome) => [outcome.invocationId, outcome]));
  return {
    id: row.turnId,
    parentId: run.id,
    kind: "turn",
    label: `turn ${run.children.length + 1}`,
    status: row.error?.code ?? row.finishReason ?? "unknown",
    startedAt: row.at,
    durationMs: row.durationMs,
    children: row.calls.map((call) => callNode(call, row, byCall.get(call.invocationId))),
    ...detailOf(row.text || row.error?.message),
  };
}

function callNode(call: CallRecord, row: TurnRow, outcome: OutcomeRecord | undefined): TreeNode {
  const isExternal = call.mode === "external";
  const startedAt = row.at + row.durationMs;
  return {
    id: call.invocationId,
    parentId: row.turnId,
    kind: "call",
    label: `${call.name ?? "?"}${isExternal ? " (external)" : ""}`,
    status: outcome?.status ?? "open",
    startedAt,
    durationMs: outcome?.durationMs ?? (isExternal && outcome ? outcome.at - startedAt : null),
    children: [],
    ...detailOf(outcome?.message),
  };
}

function detailOf(text: string | undefined): { detail?: string } {
  if (text === undefined || text === "") return {};
  return { detail: cut(text.replace(/[\s\p{Cc}\p{Cf}]+/gu, " ").trim(), MAX_DETAIL) };
}

const MAX_DETAIL = 100;

/** A run ends with the last of its rows, but for one by which the next run has canceled its open calls. */
function endOf(rows: readonly Row[], { startedAt }: TreeNode, next: TreeNode | undefined): number {
  const last = rows.findLast(({ at }) => at >= startedAt && (next === undefined || at < next.startedAt));
  return last === undefined ? startedAt : last.at + (last.kind === "turn" ? last.durationMs : 0);
}

function textOf(runs: readonly TreeNode[]): string {
  const lines: string[] = [];
  const write = (one: TreeNode, before: string, branch: string, below: string) => {
    lines.push(`${before}${branch}${lineOf(one)}`);
    for (const [index, child] of one.children.entries()) {
      const isLast = index === one.children.length - 1;
      write(child, `${before}${below}`, isLast ? "└─ " : "├─ ", isLast ? "   " : "│  ");
    }
  };
  for (const run of runs) write(run, "", "", "");
  return lines.join("\n");
}

function lineOf({ kind, id, label, status, durationMs, detail }: TreeNode): string {
  const name = kind === "run" ? `${label} ${id}` : label;
  const time = durationMs === null ? "" : `  ${timeOf(durationMs)}`;
  return `${MARKS[status] ?? "·"} ${name}  ${status}${time}${detail === undefined ? "" : `  ${detail}`}`;
}

const MARKS: Readonly<Record<string, string>> = {
  completed: "✓",
  stop: "✓",
  "tool-use": "✓",
  failed: "✗",
  error: "✗",
  invalid: "✗",
  denied: "⊘",
  canceled: "⊘",
  unknown: "?",
  expired: "?",
  open: "…",
  awaiting_tool_results: "…",
  awaiting_approval: "…",
};

function timeOf(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function mermaidOf(runs: readonly TreeNode[]): string {
  const lines = ["flowchart TD"];
  let count = 0;
  const write = (one: TreeNode, parent: string | undefined) => {
    const id = `n${count++}`;
    const time = one.durationMs === null ? "" : `<br/>${timeOf(one.durationMs)}`;
    lines.push(`  ${id}["${escaped(one.label)}<br/>${escaped(one.status)}${time}"]`);
    if (parent !== undefined) lines.push(`  ${parent} --> ${id}`);
    for (const child of one.children) write(child, id);
  };
  for (const run of runs) write(run, undefined);
  return lines.join("\n");
}

/**
 * Names may come from the model. Only these are special in quoted labels. https://mermaid.js.org/syntax/flowchart.html
 */
function escaped(text: string): string {
  return text.replace(/[&"<>#;\n]/g, (character) => `#${character.charCodeAt(0)};`);
}
