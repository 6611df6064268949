import { appendFileSync } from "node:fs";
import { z } from "zod";
import { defineTool, type Tool } from "../../src/index.ts";

/** @param ledger file to which refunds are written */
export function chatTools(ledger: string): Tool[] {
  return [
    // Without `execute`, whoever drives the run provides the result. Here that is you.
    defineTool({
      name: "get_weather",
      description: "Asks somebody who is there how the weather is.",
      inputSchema: z.object({ city: z.string(), unit: z.string().optional() }),
    }),
    defineTool({
      name: "refund_order",
      description: "Gives the money for an order back.",
      inputSchema: z.object({ order_id: z.string(), amount: z.number() }),
      needsApproval: true,
      execute: ({ order_id, amount }, { idempotencyKey }) => {
        appendFileSync(ledger, `${order_id} ${amount} ${idempotencyKey}\n`);
        return { refunded: amount };
      },
    }),
  ];
}
