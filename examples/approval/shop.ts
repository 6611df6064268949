import { appendFileSync } from "node:fs";
import { z } from "zod";
import { defineTool, type Tool } from "../../src/index.ts";

/** The tools of a shop. Its books are a file with a line per action. */
export function shopTools(books: string): Tool[] {
  const write = (line: string) => appendFileSync(books, `${line}\n`);
  return [
    defineTool({
      name: "get_weather",
      description: "Current weather of a city.",
      inputSchema: z.object({ city: z.string(), unit: z.enum(["celsius", "fahrenheit"]).optional() }),
      effect: "read",
      execute: ({ city }) => ({ city, celsius: 21 }),
    }),
    defineTool({
      name: "refund_order",
      description: "Refund an order.",
      inputSchema: z.object({ order_id: z.string(), amount: z.number().positive(), reason: z.string().optional() }),
      needsApproval: true,
      approvalMessage: ({ order_id: order, amount }) => `Refund ${amount.toFixed(2)} for order ${order}?`,
      execute: ({ order_id: order, amount }, { idempotencyKey, undoData }) => {
        // The bank gets the key: if it is asked twice, it pays once.
        write(`refund ${order} ${amount.toFixed(2)} ${String(idempotencyKey)}`);
        undoData({ order, amount });
        return { refunded: amount };
      },
      undo: ({ data }) => {
        const { order, amount } = data as { order: string; amount: number };
        write(`charge ${order} ${amount.toFixed(2)}`);
      },
    }),
  ];
}
