import { ToolError } from "../errors.ts";
import { lowerSchema, type Loss, type Lowered, type OnLoss, type Rewrite } from "../schema/lower.ts";
import { once } from "../schema/once.ts";
import { pointerSteps } from "../schema/pointer.ts";
import { isFreeText } from "../schema/rewrites.ts";
import { saidOfRoot } from "../schema/root.ts";
import type { JsonSchema } from "../schema/types.ts";
import { checkSpelling, type OptionNames } from "./option-names.ts";
import { toolList, toolsByName, type ToolSource } from "./tool-set.ts";
import type { Tool } from "./tool.ts";

/** Options of an adapter's `tools()`. */
export interface ToolsOptions {
  /** `"auto"`: strict for each tool whose schema loses nothing by it that the plain form keeps. Default `false`. */
  readonly strict?: boolean | "auto" | undefined;
  /** For what the dialect cannot express. Default `"warn"`: one `console.warn` per tool. A function gets each loss. */
  readonly onLoss?: OnLoss | ((loss: Loss) => void) | undefined;
}

const OPTIONS: OptionNames<ToolsOptions> = { strict: true, onLoss: true };

/** A tool in the provider's terms, before it takes the form of the provider's request. */
export interface LoweredTool {
  /** As the provider will know it. */
  readonly name: string;
  /** In the provider's dialect. */
  readonly schema: JsonSchema;
  /** Whether the strict rewrites made it. */
  readonly strict: boolean;
}

/** An adapter's description of its dialect. */
export interface Dialect<ToolParam> {
  /** The adapter's name, for messages. */
  readonly adapter: string;
  /** The name under which the provider knows a tool. */
  toolName(name: string): string;
  /** What a schema goes through, in this order. Empty: it is sent as it is. */
  readonly plain: readonly Rewrite[];
  /** The same for strict mode. Omit it if the provider has none; `strict: true` is then reported as a loss. */
  readonly strict?: readonly Rewrite[];
  /** Whether a tool may take one string, free text, instead of an object. */
  readonly takesText?: boolean;
  /** What the caller of the adapter's `tools()` gave. */
  readonly options: ToolsOptions | undefined;
  /** The tool in the form of the provider's request. */
  make(tool: Tool, lowered: LoweredTool): ToolParam;
}

/**
 * Tools in a provider's form: names mapped, schemas lowered, losses reported. The core of an adapter's `tools()`.
 *
 * @throws ToolError `duplicate_tool` when two names map to one; `schema_loss` with `onLoss: "throw"`, an issue per loss, and
 *   for a tool that takes text where the dialect knows only objects
 * @throws TypeError for an unknown option value
 */
export function lowerTools<ToolParam>(tools: ToolSource, dialect: Dialect<ToolParam>): ToolParam[] {
  const { adapter, options = {} } = dialect;
  const { strict = false, onLoss = "warn" } = options;
  checkSpelling(`${adapter}.tools()`, options, OPTIONS);
  checkOptions(strict, onLoss);
  if (dialect.takesText !== true) refuseText(adapter, tools);

  const losses: Loss[] = [];
  const params = Array.from(toolsByName(tools, dialect.toolName), ([name, tool]) => {
    const lowered = lowerTool(tool, dialect, strict);
    if (onLoss === "warn") warn(adapter, tool, lowered.losses);
    losses.push(...lowered.losses);
    return dialect.make(tool, { name, schema: lowered.schema, strict: lowered.strict });
  });
  if (typeof onLoss === "function") losses.forEach((loss) => onLoss(loss));
  if (onLoss === "throw" && losses.length > 0) throw lossError(adapter, losses);
  return params;
}

function lowerTool(tool: Tool, dialect: Dialect<unknown>, wanted: boolean | "auto"): Lowered & { strict: boolean } {
  const lower = (rewrites: readonly Rewrite[], strict: boolean) => ({
    ...lowerSchema(tool.inputSchema.jsonSchema, rewrites, { tool: tool.name }),
    strict,
  });
  const held = wanted !== false && dialect.strict !== undefined ? lower(dialect.strict, true) : undefined;
  if (wanted === true && held !== undefined) return held;
  const plain = lower(dialect.plain, false);
  if (wanted === true) {
    const message = `${dialect.adapter} has no strict mode; the tool is sent without it.`;
    return { ...plain, losses: [{ tool: tool.name, path: "", rule: "strict", message }, ...plain.losses] };
  }
  const isLostAnyway = ({ path, rule }: Loss) => plain.losses.some((loss) => loss.path === path && loss.rule === rule);
  return held?.losses.every(isLostAnyway) === true ? held : plain;
}

/** Which adapters have already warned about a tool: an agent sends the same tools with every request. */
const warnersOf = /* @__PURE__ */ once((_tool: Tool) => new Set<string>());

function warn(adapter: string, tool: Tool, losses: readonly Loss[]): void {
  const warners = warnersOf(tool);
  if (losses.length === 0 || warners.has(adapter)) return;
  warners.add(adapter);
  console.warn(
    `toolstream: ${summary(adapter, losses)} Inputs are still validated against the whole schema. Set onLoss to change what happens here.`,
  );
}

function lossError(adapter: string, losses: readonly Loss[]): ToolError {
  const message = `${summary(adapter, losses)} Change the schema, or set onLoss to "warn" or "ignore".`;
  const issues = losses.map((loss) => ({
    message: `${loss.tool}: ${loss.rule}: ${loss.message}`,
    path: pointerSteps(loss.path),
  }));
  return new ToolError("schema_loss", message, { issues });
}

function summary(adapter: string, losses: readonly Loss[]): string {
  const names = [...new Set(losses.map((loss) => loss.tool))].join(", ");
  return `${adapter} cannot express all of the input schema of ${names}: ${losses.map(describeLoss).join("; ")}.`;
}

/** A loss in one line: `at /properties/n: unsupported:minimum: ...`. */
export function describeLoss({ path, rule, message }: Loss): string {
  return `at ${path === "" ? "the root" : path}: ${rule}: ${message.replace(/\.$/, "")}`;
}

function checkOptions(strict: unknown, onLoss: unknown): void {
  if (typeof strict !== "boolean" && strict !== "auto") {
    throw new TypeError(`strict is true, false or "auto", got ${String(strict)}`);
  }
  if (typeof onLoss !== "function" && onLoss !== "throw" && onLoss !== "warn" && onLoss !== "ignore") {
    throw new TypeError(`onLoss is "throw", "warn", "ignore" or a function, got ${String(onLoss)}`);
  }
}

/** The model would see a tool without parameters. */
function refuseText(adapter: string, tools: ToolSource): void {
  for (const { name, inputSchema } of toolList(tools)) {
    const type = saidOfRoot(inputSchema.jsonSchema, "type");
    if (type === undefined || [type].flat().includes("object")) continue;
    const given = JSON.stringify(type);
    throw new ToolError(
      "schema_loss",
      `${adapter}: the input of a tool is an object, and the input schema of ${name} is of type ${given}. Put it in a property of an object.`,
      { issues: [{ path: [], message: `type is ${given}` }] },
    );
  }
}

/** The names of the tools whose input is free text, not an object. */
export function freeTextNames(tools: ToolSource): ReadonlySet<string> {
  const taking = toolList(tools).filter(({ inputSchema }) => isFreeText(inputSchema.jsonSchema));
  return new Set(taking.map(({ name }) => name));
}
