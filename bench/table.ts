import type { WorkloadName } from "./workloads.ts";

/** A table of the report: the first column is text, the others are numbers. */
export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly body: readonly (readonly string[])[];
  readonly notes: readonly string[];
}

/** For a terminal: the first column is left-aligned, the others right-aligned. */
export function textOf({ title, head, body, notes }: Table): string {
  const lines = [head, ...body];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const rows = lines.map((line) =>
    line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join("   "),
  );
  return ["", title, ...rows, ...notes].join("\n");
}

export function markdownOf({ title, head, body, notes }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, column) => (column === 0 ? "---" : "--:"));
  const text = notes.length === 0 ? [] : ["", ...notes.map((note) => `${note}  `)];
  return [`### ${title}`, "", line(head), line(rule), ...body.map(line), ...text].join("\n");
}

/** 200 B, 64 KiB, 1 MiB; for W6 the number of fields. */
export function sizeName(workload: WorkloadName, size: number): string {
  if (workload === "W6") return `${size.toLocaleString("en")} fields`;
  if (size >= 1024 * 1024) return `${size / 1024 / 1024} MiB`;
  return size >= 1024 ? `${size / 1024} KiB` : `${size} B`;
}
