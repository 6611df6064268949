import { digestOf } from "../digest.ts";

/** What an approval is bound to. */
export interface ApprovedThing {
  readonly toolName: string;
  readonly input: unknown;
  /** Of the tool's definition, and of the executable behind it where there is one. */
  readonly definitionDigest: string;
}

/** The digest of exactly what was shown: of another input, tool or definition it is another one. */
export async function approvalDigest({ toolName, input, definitionDigest }: ApprovedThing): Promise<string> {
  return digestOf({ toolName, input, definitionDigest });
}
