import { jsonIn } from "../../src/json/index.ts";
import { withoutMarks, type TextDialect, type WrittenResult } from "../../src/text/dialect.ts";
import { checkSpelling, type OptionNames } from "../../src/tool/option-names.ts";
import { CodeBlock } from "./block.ts";
import { createCalls } from "./calls.ts";
import { signatures } from "./describe.ts";
import { toolName } from "./names.ts";
import { resolveUse } from "./run-block.ts";
import { linesOf } from "./write.ts";

/** The tags of the blocks, and how long a block may be. */
export interface HelperTags {
  /** Default `helpers`: calls stand between `<helpers>` and `</helpers>`. */
  readonly tag?: string | undefined;
  /** Default: the tag followed by `_result`. */
  readonly resultTag?: string | undefined;
  /**
   * Maximum characters of one block; a longer one is an error, and nothing in it runs. Default 131,072 (128 Ki): the
   * grammar takes up to half a second for that much, and blocks the process meanwhile.
   */
  readonly maxBlockLength?: number | undefined;
}

const MAX_BLOCK = 131_072;
const OPTIONS: OptionNames<HelperTags> = { tag: true, resultTag: true, maxBlockLength: true };

/** @throws TypeError for an invalid tag or limit, or an option spelt like one of these */
export function helpers(options: HelperTags = {}): TextDialect {
  checkSpelling("textHelpers()", options, OPTIONS);
  const { tag = "helpers", resultTag = `${tag}_result`, maxBlockLength = MAX_BLOCK } = options;
  for (const name of [tag, resultTag]) {
    if (typeof name !== "string" || !/^[\w.:-]{1,64}$/.test(name)) {
      throw new TypeError(
        `A tag is a name of up to 64 letters, digits, "_", "-", "." and ":", got ${JSON.stringify(name)}.`,
      );
    }
  }
  if (!Number.isSafeInteger(maxBlockLength) || maxBlockLength < 1) {
    throw new TypeError(`maxBlockLength is a positive integer, got ${String(maxBlockLength)}.`);
  }
  const open = `<${tag}>`;
  const close = `</${tag}>`;
  const marks = [open, close, `<${resultTag}>`, `</${resultTag}>`];

  return {
    markers: [open],
    resultMarks: [`<${resultTag}>`],
    start(writer, context) {
      const calls = createCalls(writer, context);
      return () => new CodeBlock(close, calls.read, writer, context, maxBlockLength);
    },
    toolName,
    describe: (tools) => `You can call these functions:

\`\`\`python
${signatures(tools)}
\`\`\`

To call functions, write a block of Python between ${open} and ${close}, one call per line:

${open}
name = function_name("value", keyword=1)
other_function(name["part"])
${close}

Arguments are literals, lists, dicts, and variables that an earlier line has assigned; in later answers, those that hold the result of a call. Nothing else is evaluated: no f-strings, operators, loops, conditions, imports or prints. The results come back in a <${resultTag}> block; do not write one yourself.`,
    writeCalls: (calls) => `${open}\n${linesOf(calls).join("\n")}\n${close}`,
    writeResults: (results) =>
      `<${resultTag}>\n${results.map((result) => lineOf(result, marks)).join("\n")}\n</${resultTag}>`,
    countResults: (message) => linesIn(message, resultTag).length,
    ends: [close],
    assigned(message, count) {
      const assignments = linesIn(message, resultTag)
        .slice(0, count)
        .flatMap((line) => {
          const [, name, json] = ASSIGNMENT.exec(line) ?? [];
          const value = name === undefined ? undefined : jsonIn(json!);
          return value === undefined ? [] : [[name!, value] as const];
        });
      return Object.fromEntries(assignments);
    },
    resolve: resolveUse,
  };
}

/** JSON may hold the line separators U+2028 and U+2029. */
const ASSIGNMENT = /^([\p{L}_][\p{L}\p{N}_]*) = (.*)$/su;

/** One line per result. */
function linesIn(message: string, tag: string): string[] {
  const [open, close] = [`<${tag}>\n`, `\n</${tag}>`];
  if (!message.startsWith(open) || !message.endsWith(close)) return [];
  return message.slice(open.length, -close.length).split("\n");
}

/** `user_id = "u_17"` for a variable, `send(…) -> …` for a call without one. */
function lineOf({ name, metadata, output, isError }: WrittenResult, marks: readonly string[]): string {
  const { variable, source } = metadata as { variable?: unknown; source?: unknown };
  const call = withoutMarks(typeof source === "string" ? source.replaceAll(/\s+/g, " ") : `${name}(...)`, marks);
  // JSON is one line, so no part of it can pass for another result. A mark in JSON is inside a string, so escaping its
  // first character keeps the meaning.
  const text = marks.reduce(
    (json, mark) => json.replaceAll(mark, `\\u003c${mark.slice(1)}`),
    JSON.stringify(output) ?? "null",
  );
  if (isError) return `${call} -> error: ${text}`;
  return typeof variable === "string" ? `${variable} = ${text}` : `${call} -> ${text}`;
}
