import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { describe, expect, it, onTestFinished } from "vitest";
import { serveReplay } from "../src/replay/index.ts";
import { adapters } from "./adapters.ts";
import { program } from "./runtimes-program.ts";

const root = resolve(import.meta.dirname, "..");

/** Debian's test browser of WebKit, which is in no PATH, and needs a screen: `apt-get install libwebkit2gtk-4.1-0 xvfb`. */
const [webkit = "MiniBrowser"] = globSync("/usr/lib/*/webkit2gtk-4.*/MiniBrowser");

/** Real runtimes, where they are installed, by their commands. Each runs the same program, bundled without anything of Node. */
const runtimes = {
  bun: "bun",
  deno: "deno",
  workerd: "workerd",
  chromium: "chromium",
  firefox: isThere("firefox-esr") ? "firefox-esr" : "firefox",
  webkit,
};

describe("on a real runtime", () => {
  // In this process once: its run answers from a list.
  let expected: Promise<unknown> | undefined;

  for (const [runtime, command] of Object.entries(runtimes)) {
    const isMissing = !isThere(command);
    const title = `${runtime} does what Node does${isMissing ? ` (no ${command} was found in PATH)` : ""}`;
    it.skipIf(isMissing)(title, { timeout: 60_000 }, async () => {
      const page = await pageServer();
      const fixtures = join(root, "fixtures");
      const server = await serveReplay({
        adapters: adapters.map(({ adapter }) => adapter),
        fixtures,
        origins: [page.url],
      });
      onTestFinished(() => server.close());
      expected ??= program(server.url);
      const { read } = (await expected) as { read: object };
      expect(Object.values(read).every((results: unknown[]) => results.length > 1)).toBe(true);
      expect(await expected).toMatchObject({ aborted: "aborted", status: "completed", content: "Done." });

      const folder = mkdtempSync(join(tmpdir(), "toolstream-runtime-"));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const call = `program(${JSON.stringify(server.url)})`;
      const file = join(folder, "program.mjs");
      writeFileSync(file, await bundle(runtime === "workerd" ? WORKER(call) : POST(call, page.url)));
      page.script = await bundle(POST(call, page.url));
      if (runtime === "bun") start(command, [file]);
      if (runtime === "deno") start(command, ["run", "--allow-net", file]);
      if (runtime === "chromium") start(command, [...QUIET, `--user-data-dir=${folder}`, page.url]);
      if (runtime === "firefox") start(command, ["--headless", "--no-remote", "--profile", folder, page.url]);
      if (runtime === "webkit") start("xvfb-run", ["-a", command, "--private", page.url]);
      if (runtime === "workerd") {
        writeFileSync(join(folder, "config.capnp"), CONFIG);
        const child = start(command, ["serve", join(folder, "config.capnp"), "--control-fd=1"]);
        const ended = once(child, "close").then(() => Promise.reject(new Error("workerd does not take the worker")));
        ended.catch(() => {});
        const [line] = await Promise.race([once(child.stdout.setEncoding("utf8"), "data"), ended]);
        const { port } = JSON.parse(line) as { port: number };
        expect(await (await fetch(`http://127.0.0.1:${port}/`)).json()).toEqual(await expected);
      } else {
        expect(await page.told).toEqual(await expected);
      }
    });
  }
});

function isThere(command: string): boolean {
  return spawnSync(command, ["--version"]).error === undefined;
}

const POST = (call: string, url: string) => `
  import { program } from "./test/runtimes-program.ts";
  const result = await ${call}.catch((error) => String(error?.stack ?? error));
  await fetch("${url}/told", { method: "POST", body: JSON.stringify(result) });
`;

const WORKER = (call: string) => `
  import { program } from "./test/runtimes-program.ts";
  export default {
    fetch: () => ${call}.catch((error) => String(error?.stack ?? error)).then((result) => Response.json(result)),
  };
`;

/** A worker that may ask this machine, on a free port. */
const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "program.mjs", esModule = embed "program.mjs")],
      compatibilityDate = "2025-01-01", globalOutbound = "net")),
    (name = "net", network = (allow = ["local", "private", "public"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);`;

const QUIET = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"].concat([
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
]);

async function bundle(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root, loader: "ts" },
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: "es2023",
  });
  return outputFiles[0]!.text;
}

function start(command: string, args: readonly string[]) {
  // A group of its own, so that the processes of a browser end with it.
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "ignore"], detached: true });
  onTestFinished(async () => {
    if (child.exitCode !== null) return;
    const ended = once(child, "close");
    process.kill(-child.pid!, "SIGKILL");
    await ended;
  });
  return child;
}

/** A page that allows no code made from strings, and hears what its script or another runtime tells. */
async function pageServer() {
  const { promise: told, resolve: tell } = Promise.withResolvers<unknown>();
  const page = { url: "", script: "", told };
  const server = createServer(async (request, response) => {
    if (request.url === "/told") {
      tell(JSON.parse((await request.toArray()).join("")));
      response.end();
    } else if (request.url === "/program.mjs") {
      response.writeHead(200, { "content-type": "text/javascript" }).end(page.script);
    } else {
      const policy = "default-src 'self'; connect-src http://127.0.0.1:*";
      response.writeHead(200, { "content-type": "text/html", "content-security-policy": policy });
      response.end('<!doctype html><script type="module" src="/program.mjs"></script>');
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  page.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return page;
}
