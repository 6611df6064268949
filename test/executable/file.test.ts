import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  lchownSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { loadExecutable } from "../../src/executable/index.ts";
import { commandOf } from "../../src/executable/command.ts";
import { notAProgram } from "../../src/executable/file-kind.ts";
import { execute, failure, folder, onLinux, program, shTool } from "./support.ts";

const answer = (result: unknown) => shTool(`echo '{"success":true,"result":${JSON.stringify(result)}}'`);
const isRoot = process.getuid?.() === 0;

describe("what cannot be run", () => {
  it.each<[string, () => string, string]>([
    ["a file that is not there", () => join(folder(), "none"), "is not there"],
    ["a file in a file", () => join(program("#!/bin/sh\n"), "none"), "a part of the path is no folder"],
    ["a path with a NUL character", () => "/bin/true\0", "cannot be read"],
    ["a folder", () => folder(), "is a folder"],
    ["a device", () => "/dev/null", "is no regular file"],
    ["a file that is not executable", () => program(answer(1), { mode: 0o644 }), "is not executable: chmod +x"],
    ["an empty file", () => program(""), "is empty"],
    // execvp() would hand these to /bin/sh
    ["a text without #!", () => program("touch /tmp/owned\n"), 'does not begin with "#!"'],
    [
      "a program of another processor",
      () => program(elf(process.arch === "s390x" ? 62 : 22)),
      "another processor than",
    ],
    ["Windows line ends", () => program("#!/bin/sh\r\necho\r\n"), "ends with a carriage return"],
    ["a byte order mark", () => program("\uFEFF#!/bin/sh\n"), 'has a byte order mark before its "#!"'],
    ["an interpreter without a path", () => program("#!sh\n"), "names no interpreter by its absolute path"],
    // execvp() would hand these to /bin/sh as well, although they name another interpreter
    [
      "an interpreter that is no program",
      () => scriptOf(program("no program\n")),
      "which is no program: it does not begin",
    ],
    ["an interpreter of an interpreter that is empty", () => scriptOf(scriptOf(program(""))), "which is empty"],
    ["an interpreter with a long path", () => scriptOf(nodeAt(254)), "so long a path that the system cuts it off"],
    ["a batch file", () => program("@echo off", { name: "tool.CMD" }), "is a batch file, which cmd.exe would run"],
    ["a link that leads to itself", () => loop(), "leads back to itself"],
  ])("%s", async (_, make, words) => {
    const error = await failure(loadExecutable(make()));
    expect(error).toMatchObject({ code: "executable_refused", message: expect.stringContaining(words) });
  });

  it("an interpreter with a path that is just short enough can be run", async () => {
    expect((await loadExecutable(scriptOf(nodeAt(253)))).name).toBe("mine");
  });

  it("interpreters that lead back to themselves", async () => {
    const path = program("");
    writeFileSync(path, `#!${path}\n`);
    expect(await failure(loadExecutable(path))).toMatchObject({ code: "spawn_failed", cause: { code: "ELOOP" } });
  });

  it("an interpreter that is not there", async () => {
    const error = await failure(loadExecutable(program("#!/no/such/interpreter\n")));
    expect(error).toMatchObject({
      code: "spawn_failed",
      message: expect.stringContaining("the interpreter that its first line names"),
    });
  });

  it.each(["mkdir", "mkfifo"])("what %s makes, as an interpreter", async (make) => {
    const path = join(folder(), "made");
    execFileSync(make, [path]);
    expect(await failure(loadExecutable(scriptOf(path)))).toMatchObject({
      code: "spawn_failed",
      cause: { code: "EACCES" },
    });
  });

  it("a broken program", async () => {
    const machine = { x64: 62, arm64: 183 }[process.arch as "x64"] ?? 0;
    const error = await failure(loadExecutable(program(elf(machine))));
    expect(["spawn_failed", "tool_failed"]).toContain(error.code);
  });

  it("E2BIG: an environment of 200 KB", async () => {
    const tool = await loadExecutable(program(answer(1)), { env: ({ big }) => ({ BIG: String(big) }) });
    expect(await execute(tool, {}, { big: "small" })).toBe(1);
    const error = await failure(execute(tool, {}, { big: "x".repeat(200_000) }));
    expect(error).toMatchObject({ code: "spawn_failed", message: expect.stringContaining("E2BIG") });
  });

  it("a NUL in the environment", async () => {
    const tool = await loadExecutable(program(answer(1)), { env: ({ id }) => ({ ID: String(id) }) });
    expect(await failure(execute(tool, {}, { id: "a\0b" }))).toMatchObject({ code: "spawn_failed" });
  });

  it.runIf(onLinux)("ETXTBSY on Linux: a program that is open for writing", async () => {
    const inside = folder();
    const path = join(inside, "busy");
    copyFileSync("/bin/true", path);
    chmodSync(path, 0o755);
    const open = openSync(path, "r+");
    onTestFinished(() => closeSync(open));
    const error = await failure(loadExecutable(path));
    // Linux 6.11 and 6.12 started such programs, and `true` then prints no schema
    expect(error.code === "spawn_failed" ? error.message : "ETXTBSY").toContain("ETXTBSY");
    expect(["spawn_failed", "invalid_answer"]).toContain(error.code);
  });

  it("a working directory that is gone, or is none: nodejs/node#11520, sindresorhus/execa#799", async () => {
    const cwd = folder();
    const tool = await loadExecutable(program(answer(1)), { cwd });
    rmSync(cwd, { recursive: true });
    const gone = "The program could not be started: the working directory is not there, or may not be entered";
    const error = await failure(execute(tool));
    expect(error).toMatchObject({ code: "spawn_failed", message: `${gone} (ENOENT).` });
    writeFileSync(cwd, "");
    expect((await failure(execute(tool))).message).toBe(`${gone} (ENOTDIR).`);
    rmSync(cwd);
    await expect(loadExecutable(program(answer(1)), { cwd })).rejects.toThrow("the working directory is not there");
  });

  it.runIf(onLinux)(
    "on Linux, a compiled program whose loader is not there, as on a system with another C library",
    async () => {
      const bytes = readFileSync("/bin/true");
      const at = bytes.indexOf("/lib");
      bytes.write("/non", at, "latin1");
      const error = await failure(loadExecutable(program(bytes)));
      expect(error).toMatchObject({
        code: "spawn_failed",
        message: expect.stringContaining("or the loader of a compiled program, is not there (ENOENT)"),
      });
    },
  );

  it.each(["tool", "./tool", "../tool"])("%s: a relative path is a mistake of the caller's", async (path) => {
    await expect(loadExecutable(path)).rejects.toThrow(TypeError);
  });

  it.each([
    ["timeoutMs", 0],
    ["graceMs", Number.NaN],
    ["timeoutMs", 2 ** 31],
    ["maxOutputBytes", -1],
    ["cwd", "here"],
    ["cwd", 5],
    ["root", "here"],
    ["owners", 5],
    ["owners", ["root"]],
    ["inheritEnv", "PATH"],
    ["inheritEnv", [1]],
  ])("%s: %j is a mistake of the caller's", async (name, value) => {
    const loading = loadExecutable("/bin/true", { [name]: value });
    await expect(loading).rejects.toThrow(TypeError);
    await expect(loading).rejects.toThrow(new RegExp(`^${name} is `));
  });
});

describe("a file that somebody else could have put there", () => {
  it("`..` in its path", async () => {
    const path = program(answer(1));
    const error = await failure(loadExecutable(path.replace(/\/tool$/, "/../x/tool")));
    expect(error).toMatchObject({
      code: "executable_refused",
      message: expect.stringContaining("is not the shortest"),
    });
  });

  // Only of a folder the sticky bit says that others may not replace what is in it.
  it.each([0o777, 0o1777])("is writable by everyone", async (mode) => {
    const error = await failure(loadExecutable(program(answer(1), { mode })));
    expect(error).toMatchObject({
      code: "executable_refused",
      message: expect.stringContaining("is writable by everyone"),
    });
  });

  it("is in a folder that is writable by everyone, at any height", async () => {
    const open = join(folder(), "open");
    mkdirSync(join(open, "inner"), { recursive: true });
    chmodSync(open, 0o777);
    const path = program(answer(1), { inside: join(open, "inner") });
    const error = await failure(loadExecutable(path));
    expect(error).toMatchObject({
      code: "executable_refused",
      message: expect.stringContaining(`${open}, is writable by everyone`),
    });
    chmodSync(open, 0o1777); // as /tmp: others can add, but not replace
    expect(await execute(await loadExecutable(path))).toBe(1);
  });

  it("is a link in such a folder", async () => {
    const open = folder();
    chmodSync(open, 0o777);
    symlinkSync(program(answer(1)), join(open, "link"));
    expect(await failure(loadExecutable(join(open, "link")))).toMatchObject({ code: "executable_refused" });
  });

  it("is behind a link that leads through a link in such a folder", async () => {
    const open = folder();
    chmodSync(open, 0o777);
    symlinkSync(program(answer(1)), join(open, "link"));
    const path = join(folder(), "first");
    symlinkSync(join(open, "link"), path);
    const error = await failure(loadExecutable(path));
    expect(error).toMatchObject({
      code: "executable_refused",
      message: expect.stringContaining(`${open}, is writable by everyone`),
    });
  });

  it.runIf(isRoot).each([
    ["link to it", ""],
    ["link to its folder", "/tool"],
  ])("is behind somebody else's %s", async (_, rest) => {
    const open = folder();
    chmodSync(open, 0o1777); // as /tmp
    const path = program(answer(1));
    symlinkSync(rest === "" ? path : dirname(path), join(open, "link"));
    lchownSync(join(open, "link"), 12345, 12345);
    const error = await failure(loadExecutable(join(open, `link${rest}`)));
    expect(error).toMatchObject({
      code: "executable_refused",
      // where the system itself does not follow such links (fs.protected_symlinks of Linux)
      message: expect.stringMatching(/belongs to user 12345|cannot be read/),
    });
  });

  it.runIf(isRoot)("belongs to somebody else, which only root can try", async () => {
    const path = program(answer(1));
    chownSync(path, 12345, 12345);
    const error = await failure(loadExecutable(path));
    expect(error).toMatchObject({
      code: "executable_refused",
      message: expect.stringContaining("belongs to user 12345"),
    });
    expect(await execute(await loadExecutable(path, { owners: [0, 12345] }))).toBe(1);
  });

  it("belongs to nobody who is trusted", async () => {
    const error = await failure(loadExecutable(program(answer(1)), { owners: [4242] }));
    expect(error).toMatchObject({ code: "executable_refused", message: expect.stringContaining("not to 4242") });
  });

  it("leads out of its root by a link", async () => {
    const root = folder();
    const link = join(root, "link");
    symlinkSync(program(answer(1)), link);
    const error = await failure(loadExecutable(link, { root }));
    expect(error).toMatchObject({
      code: "executable_refused",
      message: expect.stringContaining(`leads out of ${root}`),
    });
    expect(await execute(await loadExecutable(link))).toBe(1); // without a root a link is as good as the file
  });

  it.each(["relative", "absolute"])("is within its root through a link that is %s", async (kind) => {
    const root = folder();
    const path = program(answer(1), { inside: root });
    symlinkSync(kind === "relative" ? "tool" : path, join(root, "link"));
    const tool = await loadExecutable(join(root, "link"), { root });
    expect(tool.metadata["executable"]).toMatchObject({ path: join(root, "link"), realPath: join(root, "tool") });
  });
});

describe("a file that changes between approval and call", () => {
  const changed = { code: "executable_changed" };

  it("is noticed", async () => {
    const path = program(answer("as approved"));
    const tool = await loadExecutable(path);
    expect(await execute(tool)).toBe("as approved");
    program(answer("something else"), { inside: path.replace(/\/tool$/, "") });
    const error = await failure(execute(tool));
    expect(error).toMatchObject(changed);
    expect(error.message).not.toContain(path); // the model reads it
    expect((await loadExecutable(path)).metadata["executableDigest"]).not.toBe(tool.metadata["executableDigest"]);
  });

  it("is noticed at once, in the same tick of the clock, with the same size and time", async () => {
    const path = program(answer("aaaa"));
    const tool = await loadExecutable(path);
    const { atime, mtime } = statSync(path);
    writeFileSync(path, answer("bbbb"));
    utimesSync(path, atime, mtime);
    expect(await failure(execute(tool))).toMatchObject(changed);
  });

  it("is noticed when it was read long ago and is only recognised by its times", async () => {
    const path = program(answer("aaaa"));
    const { ctimeMs } = statSync(path);
    const now = vi.spyOn(Date, "now").mockReturnValue(ctimeMs + 60_000);
    onTestFinished(() => void now.mockRestore());
    const tool = await loadExecutable(path);
    expect(await execute(tool)).toBe("aaaa");
    expect(await execute(tool)).toBe("aaaa");
    const { atime, mtime } = statSync(path);
    writeFileSync(path, answer("bbbb"));
    utimesSync(path, atime, mtime); // what changed the file cannot set its ctime
    expect(await failure(execute(tool))).toMatchObject(changed);
  });

  it("is noticed when another file takes its place", async () => {
    const path = program(answer(1));
    const tool = await loadExecutable(path);
    renameSync(program(answer(2)), path);
    expect(await failure(execute(tool))).toMatchObject(changed);
  });

  it("is noticed when a link leads elsewhere, to the same content too", async () => {
    const link = join(folder(), "link");
    symlinkSync(program(answer(1)), link);
    const tool = await loadExecutable(link);
    rmSync(link);
    symlinkSync(program(answer(1)), link);
    expect(await failure(execute(tool))).toMatchObject(changed);
  });

  it("is noticed, too, while the host looks up the variables of the call", async () => {
    const path = program(answer(1));
    const env = async () => {
      writeFileSync(path, answer(2));
      return {};
    };
    expect(await failure(execute(await loadExecutable(path, { env })))).toMatchObject(changed);
  });

  it("is the same when only its time changed", async () => {
    const path = program(answer(1));
    const tool = await loadExecutable(path);
    utimesSync(path, 1, 1);
    expect(await execute(tool)).toBe(1);
  });

  it("that is gone, or that everyone can write now, is not run", async () => {
    const path = program(answer(1));
    const tool = await loadExecutable(path);
    chmodSync(path, 0o777);
    const error = await failure(execute(tool));
    expect(error).toMatchObject({
      code: "executable_refused",
      message: "The program cannot be run any more.",
    });
    rmSync(path);
    expect(await failure(execute(tool))).toMatchObject({ code: "executable_refused" });
  });

  it("is not run for the first time when it is not the one that was meant", async () => {
    const trace = join(folder(), "trace");
    const path = program(`#!/bin/sh\ntouch ${trace}\n`);
    const error = await failure(loadExecutable(path, { digest: `sha256:${"0".repeat(64)}` }));
    expect(error).toMatchObject(changed);
    expect(() => statSync(trace)).toThrow("ENOENT");
  });
});

it("a batch file is one behind a link of any name, too", async () => {
  const link = join(folder(), "tool");
  symlinkSync(program(answer(1), { name: "tool.bat" }), link);
  const error = await failure(loadExecutable(link));
  expect(error).toMatchObject({ code: "executable_refused", message: expect.stringContaining("is a batch file") });
});

describe("a batch file that is meant", () => {
  it("gets a command line of its own path and our arguments", () => {
    expect(commandOf("C:\\my tools\\a.cmd", ["--schema"], "win32")).toMatchObject({
      args: ["/d", "/s", "/c", '""C:\\my tools\\a.cmd" --schema"'],
      verbatim: true,
    });
    expect(commandOf("/tools/a.cmd", ["--schema"], "linux")).toEqual({
      file: "/tools/a.cmd",
      args: ["--schema"],
      verbatim: false,
    });
  });

  it.each(["C:\\a&calc.cmd", "C:\\%TEMP%\\a.bat", "C:\\a^.cmd", 'C:\\a".cmd'])("is refused as %s", (path) => {
    expect(() => commandOf(path, [], "win32")).toThrow("holds none of");
  });

  it("is any file on other systems", async () => {
    const path = program(answer(1), { name: "tool.bat" });
    expect(await execute(await loadExecutable(path, { allowBatch: true }))).toBe(1);
  });
});

it("knows programs of other systems", () => {
  const machO = Buffer.from("cffaedfe07000001", "hex");
  expect([notAProgram(machO, "darwin"), notAProgram(machO, "linux")]).toEqual([
    undefined,
    "is built for another operating system",
  ]);
  expect(notAProgram(Buffer.from("MZ"), "win32")).toBeUndefined();
  const bigEndian = elf(22 << 8);
  bigEndian[5] = 2;
  expect(notAProgram(bigEndian, "linux", "s390x")).toBeUndefined();
  expect(notAProgram(elf(8), "linux", "mips")).toBeUndefined(); // what is not known is left to the system
  expect(notAProgram(elf(62).subarray(0, 19), "linux", "x64")).toMatch("is no program");
});

/** The head of an ELF program, and nothing else. */
function elf(machine: number): Buffer {
  const head = Buffer.alloc(64);
  head.write("\x7fELF", "latin1");
  head.set([2, 1, 1], 4);
  head.writeUInt16LE(2, 16);
  head.writeUInt16LE(machine, 18);
  return head;
}

/** A program in JavaScript with this interpreter. */
function scriptOf(interpreter: string): string {
  return program(`#!${interpreter}\nconsole.log('{"name":"mine","parameters":{}}')\n`);
}

/** A link to Node whose path has this many characters. */
function nodeAt(length: number): string {
  let inside = folder();
  while (inside.length < length - 110) inside = join(inside, "x".repeat(90));
  mkdirSync(inside, { recursive: true });
  const path = join(inside, "n".repeat(length - inside.length - 1));
  symlinkSync(process.execPath, path);
  return path;
}

function loop(): string {
  const path = join(folder(), "loop");
  symlinkSync(path, path);
  return path;
}
