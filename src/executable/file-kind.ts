/**
 * The ELF machine numbers that each of Node's processors can run (`e_machine`,
 * https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html).
 */
const ELF_MACHINES: Readonly<Record<string, readonly number[]>> = {
  x64: [62, 3],
  ia32: [3],
  arm64: [183, 40],
  arm: [40],
  ppc64: [21],
  s390x: [22],
  riscv64: [243],
  loong64: [258],
};

/** As much of a file as Linux looks at (`BINPRM_BUF_SIZE`, https://man7.org/linux/man-pages/man2/execve.2.html). */
export const HEADER_BYTES = 256;

const MACH_O = ["feedface", "feedfacf", "cefaedfe", "cffaedfe", "cafebabe"];

/**
 * Why a file that starts like this is not a program; `undefined` if it is one.
 *
 * This must be checked first, since the C library's `execvp()` hands what the system does not know (another processor's
 * program, a text without `#!`, an empty file) to `/bin/sh` as a script.
 *
 * @param header its first {@link HEADER_BYTES}
 */
export function notAProgram(header: Buffer, platform: string = process.platform, arch: string = process.arch) {
  if (header.length === 0) return "is empty";
  if (platform === "win32") return undefined; // Windows decides by the name, and uses no shell
  if (header.toString("latin1", 0, 2) === "#!") {
    const line = header.toString("latin1").split("\n")[0]!;
    if (line.endsWith("\r")) return "has a first line that ends with a carriage return: save it with Unix line ends";
    if (!/^#![ \t]*\//.test(line)) return "has a first line that names no interpreter by its absolute path";
    if (interpreterOf(header)!.end === HEADER_BYTES) {
      return "has a first line with so long a path that the system cuts it off: a link to the interpreter is shorter";
    }
    return undefined;
  }
  if (header.toString("utf8", 0, 5) === "\uFEFF#!") return 'has a byte order mark before its "#!": save it without one';
  if (header.toString("latin1", 0, 4) === "\x7FELF" && header.length >= 20) {
    const machine = header[5] === 2 ? header.readUInt16BE(18) : header.readUInt16LE(18);
    const ours = ELF_MACHINES[arch];
    return ours === undefined || ours.includes(machine) ? undefined : `is built for another processor than ${arch}`;
  }
  if (MACH_O.includes(header.toString("hex", 0, 4))) {
    return platform === "darwin" ? undefined : "is built for another operating system";
  }
  return 'is no program: it does not begin with "#!" and the path of an interpreter';
}

/** The interpreter that a script names, and where its path ends; `undefined` for other files. */
export function interpreterOf(header: Buffer): { readonly path: Buffer; readonly end: number } | undefined {
  const [start, path] = /^#![ \t]*([^ \t\n\0]+)/.exec(header.toString("latin1")) ?? [];
  return path === undefined ? undefined : { path: Buffer.from(path, "latin1"), end: start!.length };
}
