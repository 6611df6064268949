/** Why Python cannot become a call. Written for the model; thrown where it is found, caught per line or list. */
export class Refusal extends Error {}
