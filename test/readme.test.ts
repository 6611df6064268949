import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { openaiChat } from "../adapters/openai-chat/index.ts";
import { serveReplay } from "../src/replay/index.ts";
import { blocksOf, root } from "./doc-blocks.ts";
import { fixturesDir } from "./fixtures.ts";
import { temporary } from "./temporary.ts";

/** The program is not in this repository, but finds what is: its packages, and the sources in place of the build. */
const elsewhere = `import { registerHooks } from "node:module";
  const root = ${JSON.stringify(pathToFileURL(`${root}/`).href)};
  const sources = { "toolstream": "src/index.ts", "toolstream/openai-chat": "adapters/openai-chat/index.ts" };
  registerHooks({ resolve: (name, context, next) => sources[name] ? next(root + sources[name], context)
    : next(name, /^[\\w@]/.test(name) ? { ...context, parentURL: root } : context) });`;

it("the first program of the README runs in Node as it stands, without a compiler", async () => {
  const server = await serveReplay({ adapters: [openaiChat], fixtures: fixturesDir });
  onTestFinished(() => server.close());
  const program = join(temporary(), "index.mts");
  const { code } = blocksOf("README.md").find(({ language }) => language === "ts")!;
  writeFileSync(program, `${code}\nconsole.log(JSON.stringify(messages.at(-1)));\n`);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", `data:text/javascript,${encodeURIComponent(elsewhere)}`, program],
    {
      env: { OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${server.url}/openai-chat/one-call/v1`, NODE_NO_WARNINGS: "1" },
    },
  );
  const lines = stdout.trim().split("\n");
  expect(lines).toContain("get_weather { city: 'Oslo' }");
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({ role: "tool", content: '{"city":"Oslo","celsius":21}' });
});
