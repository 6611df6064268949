import { cut } from "../../errors.ts";

/** What it quotes may be of any length. */
const MAX_LENGTH = 500;

/** Why Python cannot become a call. Written for the model; thrown where it is found, caught per line or list. */
export class Refusal extends Error {
  constructor(reason: string) {
    super(cut(reason, MAX_LENGTH));
  }
}
