/** Why a line of a block cannot become a call. Written for the model; thrown where it is found, caught per line. */
export class Refusal extends Error {}
