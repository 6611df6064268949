import { digestOf } from "../digest.ts";

/** What an approval is bound to. */
export interface ApprovedThing {
  readonly toolName: string;
  readonly input: unknown;
  /** Digest of the tool's definition, and of the executable behind it, if there is one. */
  readonly definitionDigest: string;
}

/** The digest of exactly what was shown: another input, tool or definition has another digest. */
export async function approvalDigest({ toolName, input, definitionDigest }: ApprovedThing): Promise<string> {
  return digestOf({ toolName, input, definitionDigest });
}
