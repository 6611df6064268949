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
    const missing = [command, ...(runtime === "webkit" ? ["xvfb-run"] : [])].find((needed) => !isThere(needed));
    const title = `${runtime} does what Node does${missing === undefined ? "" : ` (no ${missing} was found in PATH)`}`;
    it.skipIf(missing !== undefined)(title, async () => {
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
      if (runtime === "workerd") writeFileSync(join(folder, "config.capnp"), CONFIG);
      const { child, ended } = start(...commandOf(runtime, command, folder, page.url));
      if (runtime === "workerd") {
        const [line] = await Promise.race([once(child.stdout.setEncoding("utf8"), "data"), ended]);
        const { port } = JSON.parse(line) as { port: number };
        expect(await (await fetch(`http://127.0.0.1:${port}/`)).json()).toEqual(await expected);
      } else {
        expect(await Promise.race([page.told, ended])).toEqual(await expected);
      }
    });
  }

  it.each([
    ["is killed", "kill -9 $$", "SIGKILL"],
    ["ends", "exit 3", "3"],
  ])("that %s is reported at once", async (_what, script, why) => {
    await expect(start("sh", ["-c", script]).ended).rejects.toThrow(`sh ended (${why}) before it said anything`);
  });
});

function commandOf(runtime: string, command: string, folder: string, url: string): [string, readonly string[]] {
  const file = join(folder, "program.mjs");
  switch (runtime) {
    case "bun":
      return [command, [file]];
    case "deno":
      return [command, ["run", "--allow-net", file]];
    case "workerd":
      return [command, ["serve", join(folder, "config.capnp"), "--control-fd=1"]];
    case "chromium":
      return [command, [...QUIET, `--user-data-dir=${folder}`, url]];
    case "firefox":
      return [command, ["--headless", "--no-remote", "--profile", folder, url]];
    default:
      return ["xvfb-run", ["-a", command, "--private", url]];
  }
}

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
  const exit = once(child, "exit");
  const ended = exit.then(([code, signal]) => {
    throw new Error(`${command} ended (${code ?? signal}) before it said anything`);
  });
  ended.catch(() => {}); // in the end it is killed
  onTestFinished(async () => {
    try {
      process.kill(-child.pid!, "SIGKILL");
    } catch {
      return; // the whole group has ended
    }
    await exit;
  });
  return { child, ended };
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
