import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import { z as z3 } from "zod3";
import {
  jsonSchema,
  type toSchema,
  type InferInput,
  type InferOutput,
  type Schema,
  type SchemaSource,
} from "../../src/schema/index.ts";
import { zod3 } from "../../src/schema/zod3.ts";
import { ToolRegistry } from "../../src/tool/registry.ts";
import { toolList } from "../../src/tool/tool-set.ts";
import { defineTool, type Tool, type ToolContext } from "../../src/tool/tool.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_Fact extends true>(): void => {};

const zodSchema = z.object({ city: z.string(), days: z.number().default(1) });
const zod3Schema = zod3(z3.object({ city: z3.string(), days: z3.number().default(1) }));
const valibotSchema = v.object({ city: v.string(), days: v.optional(v.number(), 1) });
const arktypeSchema = type({ city: "string", days: "number = 1" });
const typed = jsonSchema<{ city: string }>({ type: "object" });
const plain = { type: "object", properties: { city: { type: "string" } } } as const;

is<Equal<InferInput<typeof zodSchema>, { city: string; days?: number | undefined }>>();
is<Equal<InferOutput<typeof zodSchema>, { city: string; days: number }>>();
is<Equal<InferInput<typeof zod3Schema>, { city: string; days?: number | undefined }>>();
is<Equal<InferOutput<typeof zod3Schema>, { city: string; days: number }>>();
is<Equal<InferOutput<typeof valibotSchema>, { city: string; days: number }>>();
is<Equal<InferOutput<typeof arktypeSchema>, { city: string; days: number }>>();
is<Equal<InferOutput<typeof typed>, { city: string }>>();
is<Equal<InferOutput<typeof plain>, any>>();
is<
  Equal<
    ReturnType<typeof toSchema<typeof zodSchema>>,
    Schema<{ city: string; days?: number | undefined }, { city: string; days: number }>
  >
>();

const getWeather = defineTool({
  name: "get_weather",
  inputSchema: zodSchema,
  execute: (input, context) => {
    is<Equal<typeof input, { city: string; days: number }>>();
    is<Equal<typeof context, ToolContext>>();
    return input.days;
  },
});
const use = getWeather.use({ city: "Oslo" });
is<Equal<typeof use.input, { city: string; days: number }>>();
is<Equal<ReturnType<typeof use.executeSync>, number>>();
is<Equal<ReturnType<typeof use.execute>, Promise<number>>>();

const later = defineTool({ name: "later", inputSchema: arktypeSchema, execute: async ({ city }) => city });
const laterUse = later.use({ city: "Oslo" });
is<Equal<ReturnType<typeof laterUse.execute>, Promise<string>>>();

defineTool({ name: "valibot", inputSchema: valibotSchema, execute: ({ city, days }) => city.repeat(days) });
defineTool({ name: "plain", inputSchema: plain, execute: ({ anything }) => anything });
defineTool({ name: "typed", inputSchema: typed, execute: ({ city }) => city.length });

// what the model is told is made of what the handler returned, or a generator in the end
defineTool({
  name: "x",
  inputSchema: zodSchema,
  execute: ({ days }) => ({ days }),
  toModelOutput: ({ days }) => days.toFixed(),
});
defineTool({
  name: "x",
  inputSchema: zodSchema,
  execute: async ({ city }) => city,
  toModelOutput: (city) => city.length,
});
defineTool({
  name: "x",
  inputSchema: plain,
  async *execute() {
    yield 1;
    return "done";
  },
  toModelOutput: (said) => said.length,
});
defineTool({
  name: "x",
  inputSchema: zodSchema,
  execute: () => ({ days: 1 }),
  // @ts-expect-error: the handler returns no country
  toModelOutput: ({ country }) => country,
});

// in a run, a handler knows its conversation
defineTool({
  name: "x",
  inputSchema: zodSchema,
  execute: (_, { conversationId }) => is<Equal<typeof conversationId, string | undefined>>(),
});

// @ts-expect-error: the input does not fit
getWeather.use({ city: 1 });
// @ts-expect-error: a property is missing
getWeather.use({});
// @ts-expect-error: the schema does not give a country
defineTool({ name: "x", inputSchema: zodSchema, execute: ({ country }) => country });
// @ts-expect-error: the handler wants another type
defineTool({ name: "x", inputSchema: zodSchema, execute: (_input: { city: number }) => 1 });
// @ts-expect-error: no schema
defineTool({ name: "x", execute: () => 1 });
// @ts-expect-error: a schema is no string
defineTool({ name: "x", inputSchema: "object" });

// a helper that takes any schema
function read<S extends SchemaSource>(inputSchema: S, run: (input: InferOutput<S>) => string) {
  return defineTool({ name: "x", inputSchema, execute: (input) => run(input) });
}
read(zodSchema, ({ city }) => city).use({ city: "Oslo" });
// @ts-expect-error: the schema gives a text
read(zodSchema, ({ city }) => city * 2);

// an interface of JSON Schema, as those of other packages are: `JSONSchema7` of @types/json-schema
interface SchemaInterface {
  $id?: string;
  $ref?: string;
  type?: string | string[];
  properties?: { [name: string]: SchemaInterface | boolean };
  items?: SchemaInterface | boolean;
}
declare const ofInterface: SchemaInterface;
is<Equal<InferOutput<typeof ofInterface>, any>>();
defineTool({ name: "x", inputSchema: ofInterface, outputSchema: ofInterface, execute: ({ city }) => city });
is<Equal<ReturnType<typeof jsonSchema<{ city: string }>>, Schema<{ city: string }>>>();
jsonSchema<{ city: string }>(ofInterface);
// @ts-expect-error: of another kind
defineTool({ name: "x", inputSchema: new Date() });
// @ts-expect-error: of another kind
defineTool({ name: "x", inputSchema: () => zodSchema });

// tools of all types go into one set
const tools: readonly Tool[] = [getWeather, later];
const registry = new ToolRegistry(tools);
toolList(registry);
toolList(tools);
registry.register(getWeather, { mode: "external" });
// @ts-expect-error: no such mode
registry.register(getWeather, { mode: "remote" });
