import { describe, expect, it } from "vitest";
import { ToolUse } from "../../src/index.ts";
import { folderOf, readers } from "../adapters.ts";
import { fixtureNames, loadFixture, places, plainUse, readPieces } from "../fixtures.ts";
import { seeded } from "../seeded.ts";

describe.each(readers.map((row) => ({ ...row, folder: folderOf(row) })))("$folder", ({ adapter, folder }) => {
  it.each(fixtureNames(folder))(
    "%s, cut at every byte, or at a thousand if it is long, hands out no call that was not complete in the whole, and no write",
    async (name) => {
      const { bytes, tools } = loadFixture(folder, name);
      const whole = await readPieces(adapter, [bytes], tools);
      const complete = new Map<string, string>();
      const note = (use: ToolUse) => complete.set(use.invocationId, JSON.stringify(plainUse(use)));
      for (const event of whole.events) if (event.type === "tool-use") note(event.use);
      for (const { outcome } of whole.turn.calls) if (outcome instanceof ToolUse) note(outcome);
      const problems: unknown[] = [];
      for (const at of places(bytes.length, seeded(bytes.length))) {
        const { events } = await readPieces(adapter, [bytes.subarray(0, at)], tools);
        const last = events.at(-1)!;
        if (last.type !== "finish" && last.type !== "error") problems.push({ at, last });
        for (const event of events) {
          if (event.type !== "tool-use") continue;
          const use = plainUse(event.use);
          if (complete.get(event.use.invocationId) !== JSON.stringify(use))
            problems.push({ at, use, isReleased: "though it is not complete in the whole" });
          if (!event.use.tool.eager && last.type !== "finish")
            problems.push({ at, use, isReleased: "though the turn was cut" });
        }
      }
      expect(problems.slice(0, 3)).toEqual([]);
    },
  );
});
