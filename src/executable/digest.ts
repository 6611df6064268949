import { createHash } from "node:crypto";
import { open, type FileHandle } from "node:fs/promises";
import { HEADER_BYTES } from "./file-kind.ts";

/** The state of a file, and its first bytes. */
export interface FileDigest {
  /** Of its content: `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  /** At most {@link HEADER_BYTES}. */
  readonly header: Buffer;
}

/** Rejects with the system's error. */
export type Digester = (file: string) => Promise<FileDigest>;

const COARSE_CLOCK_MS = 2_000;

/**
 * For one file, which is not read again while its inode, size and times are unchanged. As in git, that is trusted only
 * if its last change was clearly before it was read, since file system clocks are coarse
 * (https://git-scm.com/docs/racy-git).
 */
export function createDigester(): Digester {
  let known: (FileDigest & { readonly stamp: string }) | undefined;

  return async (file) => {
    const handle = await open(file, "r");
    try {
      const { dev, ino, size, mtimeNs, ctimeNs, ctimeMs } = await handle.stat({ bigint: true });
      const stamp = [dev, ino, size, mtimeNs, ctimeNs].join();
      if (known?.stamp === stamp) return known;
      const read = { stamp, ...(await readDigest(handle)) };
      known = Date.now() - Number(ctimeMs) > COARSE_CLOCK_MS ? read : undefined;
      return read;
    } finally {
      await handle.close();
    }
  };
}

async function readDigest(handle: FileHandle): Promise<FileDigest> {
  const hash = createHash("sha256");
  let header = Buffer.alloc(0);
  for await (const bytes of handle.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
    hash.update(bytes);
    if (header.length < HEADER_BYTES) header = Buffer.concat([header, bytes.subarray(0, HEADER_BYTES - header.length)]);
  }
  return { digest: `sha256:${hash.digest("hex")}`, header };
}
