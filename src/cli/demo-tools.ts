import { jsonSchema } from "../schema/index.ts";
import { defineTool, type Tool } from "../tool/tool.ts";
import { loadTools } from "./tools-file.ts";

/** The tools of the fixtures, with handlers that answer as such tools would. */
export async function executable(path: string): Promise<readonly Tool[]> {
  const answers = handlers();
  return (await loadTools(path)).map((tool) => {
    const { name, description, inputSchema, effect } = tool;
    const execute = answers[name] ?? ((input: unknown) => ({ ok: true, input }));
    return defineTool({ name, inputSchema, effect, execute, ...(description === undefined ? {} : { description }) });
  });
}

/** The tools offered to a real provider. */
export function demoTools(): readonly Tool[] {
  const answers = handlers();
  const text = { type: "string" };
  const tool = (name: string, description: string, property: string) =>
    defineTool({
      name,
      description,
      effect: "read",
      inputSchema: jsonSchema({ type: "object", properties: { [property]: text }, required: [property] }),
      execute: answers[name]!,
    });
  return [
    tool("get_weather", "Current weather of a city.", "city"),
    tool("find_orders", "Find orders of a customer.", "customer"),
    tool("calculate", "Evaluate an arithmetic expression.", "expression"),
  ];
}

function handlers(): Readonly<Record<string, (input: any) => unknown>> {
  return {
    get_weather: ({ city }) => ({ city, celsius: 4 + (String(city).length % 20), sky: "clear" }),
    now: () => ({ utc: new Date().toISOString() }),
    find_orders: async ({ customer, limit = 10 }) => ({ customer, orders: ["A-1001", "A-1002"].slice(0, limit) }),
    calculate: ({ expression }) => ({ expression, value: calculate(String(expression)) }),
    refund_order: async ({ order_id, amount }) => ({ order_id, refunded: amount }),
    write_file: ({ path, content }) => ({
      path,
      characters: String(content).length,
      note: "not written: this is a demo",
    }),
  };
}

/**
 * Numbers, `+ - * / ^`, signs and brackets.
 *
 * @throws Error that says where the expression cannot be read
 */
export function calculate(expression: string): number {
  const tokens = expression.match(/\d+(?:\.\d+)?|\S/g) ?? [];
  let at = 0;
  const operations: Record<string, (a: number, b: number) => number> = {
    "+": (a, b) => a + b,
    "-": (a, b) => a - b,
    "*": (a, b) => a * b,
    "/": (a, b) => a / b,
  };
  const chain = (signs: string, next: () => number): number => {
    let value = next();
    while (at < tokens.length && signs.includes(tokens[at]!)) value = operations[tokens[at++]!]!(value, next());
    return value;
  };
  const atom = (): number => {
    const token = tokens[at++];
    if (token === "-") return -power();
    if (token === "(") {
      const value = sum();
      if (tokens[at++] === ")") return value;
    } else if (token !== undefined && /^\d/.test(token)) return Number(token);
    throw new Error(`"${expression}" cannot be calculated: token ${at} is ${token ?? "missing"}`);
  };
  const power = (): number => {
    const base = atom();
    if (tokens[at] !== "^") return base;
    at++;
    return base ** power();
  };
  const product = () => chain("*/", power);
  const sum = () => chain("+-", product);
  const value = sum();
  if (at < tokens.length) throw new Error(`"${expression}" cannot be calculated: token ${at + 1} is ${tokens[at]!}`);
  return value;
}
