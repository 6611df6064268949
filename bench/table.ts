/** An aligned table: the first column to the left, the others to the right. */
export function table(head: readonly string[], body: readonly (readonly string[])[]): string {
  const lines = [head, ...body];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map((line) =>
      line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join("   "),
    )
    .join("\n");
}

/** 200 B, 64 KiB, 1 MiB */
export function sizeName(size: number): string {
  if (size >= 1024 * 1024) return `${size / 1024 / 1024} MiB`;
  return size >= 1024 ? `${size / 1024} KiB` : `${size} B`;
}
