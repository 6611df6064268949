import { spawn, spawnSync } from "node:child_process";
import { createServer, type AddressInfo } from "node:net";

/** Why no Redis can be started here; `undefined`: one can. */
export const redisMissing: string | undefined =
  spawnSync("redis-server", ["--version"]).status === 0 ? undefined : "no redis-server was found in PATH";

/** A title that says why its tests are left out, where they are. */
export function onRedis(title: string): string {
  return redisMissing === undefined ? title : `${title} (left out: ${redisMissing})`;
}

export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** Ends it like a crash; what it held is lost. */
  stop(): Promise<void>;
}

/**
 * A `redis-server` of its own on a loopback port, in memory only. It ends with this process, however this process ends:
 * a shell between us kills it when its stdin closes.
 */
export async function startRedis(port?: number): Promise<RedisServer> {
  if (port !== undefined) return startAt(port);
  // Another process may take a port that was free a moment ago.
  for (;;) {
    try {
      return await startAt(await freePort());
    } catch (error) {
      if (!/already in use/.test(String(error))) throw error;
    }
  }
}

async function startAt(port: number): Promise<RedisServer> {
  const script = 'redis-server "$@" & pid=$!; cat > /dev/null; kill -9 $pid; wait $pid';
  const settings = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  const child = spawn("sh", ["-c", script, "redis", ...settings], { stdio: ["pipe", "pipe", "ignore"], cwd: "/tmp" });
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  await new Promise<void>((ready, fail) => {
    let log = "";
    child.once("error", fail);
    child.once("close", () => fail(new Error(`redis-server did not start:\n${log}`)));
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      log += text;
      if (log.includes("Ready to accept connections")) ready();
      else if (/Fatal|Could not create server|Failed listening/.test(log)) child.stdin.end();
    });
  });
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const probe = createServer().once("error", fail);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => done(port));
    });
  });
}
