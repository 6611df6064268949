import type { Loss } from "../schema/lower.ts";
import { loadTools } from "./tools-file.ts";
import { parseOptions, UsageError } from "./usage-error.ts";
import { adapterNamed, wireNames } from "./wires.ts";

export const usage = `toolstream schema --tools FILE --provider NAME [--strict]

Prints the tools in the form of the provider's request, and what its schema dialect cannot express.

  --tools FILE     a JSON array of { name, description, parameters }, or a module that exports tools
  --provider NAME  ${wireNames}
  --strict         in the provider's strict mode`;

/** @returns the exit status */
export async function run(args: readonly string[]): Promise<number> {
  const { values } = parseOptions({
    args: [...args],
    options: { tools: { type: "string" }, provider: { type: "string" }, strict: { type: "boolean" } },
  });
  if (values.tools === undefined || values.provider === undefined) {
    throw new UsageError(`schema needs --tools and --provider.\n\n${usage}`);
  }
  const adapter = adapterNamed(values.provider);
  const losses: Loss[] = [];
  const tools = adapter.tools(await loadTools(values.tools), {
    strict: values.strict ?? false,
    onLoss: (loss) => losses.push(loss),
  });
  process.stdout.write(
    `${JSON.stringify({ provider: adapter.name, strict: values.strict ?? false, tools, losses }, undefined, 2)}\n`,
  );
  return 0;
}
