import { jsonSchema } from "../schema/index.ts";
import { defineTool, type Tool } from "../tool/tool.ts";
import { loadTools } from "./tools-file.ts";

/** The tools of the fixtures, with handlers that answer as such tools would. */
export async function executable(path: string): Promise<readonly Tool[]> {
  return (await loadTools(path)).map((tool) => {
    const { name, description, inputSchema, effect } = tool;
    const execute = answers[name] ?? ((input: unknown) => ({ ok: true, input }));
    return defineTool({ name, inputSchema, effect, execute, ...(description === undefined ? {} : { description }) });
  });
}

/** The tools offered to a real provider. */
export function demoTools(): readonly Tool[] {
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
  ];
}

const answers: Readonly<Record<string, (input: any) => unknown>> = {
  get_weather: ({ city }) => ({ city, celsius: 4 + (String(city).length % 20), sky: "clear" }),
  find_orders: async ({ customer, limit = 10 }) => ({ customer, orders: ["A-1001", "A-1002"].slice(0, limit) }),
  write_file: ({ path, content }) => ({
    path,
    characters: String(content).length,
    note: "not written: this is a demo",
  }),
};
