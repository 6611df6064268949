import { messageOf } from "../errors.ts";
import { recordingProxy } from "../replay/index.ts";
import { clients } from "./clients.ts";
import { fired, listening, untilInterrupted } from "./serve.ts";
import { parseOptions, portOf, UsageError } from "./usage-error.ts";
import { adapterNamed, wireNames } from "./wires.ts";

export const usage = `toolstream record --wire NAME --url URL --out FILE [--port N]

Sits in front of a real endpoint and records the bodies of its responses. Point an SDK's base URL at it.
Request headers, keys and cookies are passed on and never written.

  --wire NAME  record only requests of this wire: ${wireNames}
  --url URL    the endpoint, for example https://api.openai.com
  --out FILE   the file for the first response (later ones get -2, -3, ...), or a folder for them,
               with a slash at its end if it is new
  --port N     default: a free port`;

/** Records until it is interrupted. */
export async function run(args: readonly string[]): Promise<number> {
  const { values } = parseOptions({
    args: [...args],
    options: { wire: { type: "string" }, url: { type: "string" }, out: { type: "string" }, port: { type: "string" } },
  });
  const { wire, url, out } = values;
  // An empty name (of an unset variable, say) would fail only when there is something to write.
  if (wire === undefined || url === undefined || !out) {
    throw new UsageError(`record needs --wire, --url and --out.\n\n${usage}`);
  }
  const adapter = adapterNamed(wire);
  const port = portOf(values.port);
  const stop = untilInterrupted();
  let status = 0;
  const proxy = await listening(
    port,
    recordingProxy({
      url,
      out,
      wire: adapter,
      port,
      signal: stop,
      onRecording: ({ bytes, complete }, { file, method, path }) => {
        const note = complete ? "" : ", incomplete: it broke off, or the client left";
        process.stdout.write(`${file}: ${bytes.length} bytes of ${method} ${path}${note}\n`);
      },
      onSkipped: ({ method, path, status: answer, reason }) => {
        process.stderr.write(`toolstream: ${method} ${path} (${answer}) is not recorded: ${reason}\n`);
      },
      onError: (error) => {
        status = 1;
        process.stderr.write(`toolstream: the recording could not be saved: ${messageOf(error)}\n`);
      },
    }),
  );
  // A URL with a path already is a complete base URL for the SDK; a mere host lacks the SDK's base path.
  const path = new URL(url).pathname === "/" ? clients.find((client) => client.adapter === adapter)!.basePath : "";
  const how = path === "" ? "Use it as the base URL." : `Use ${proxy.url}${path} as the base URL.`;
  // A key may be in the query.
  process.stdout.write(`Recording ${url.split("?")[0]} at ${proxy.url}. ${how} Press Ctrl+C to stop.\n`);
  await fired(stop);
  await proxy.close();
  return status;
}
