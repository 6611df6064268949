import type { Rewrite } from "../../src/schema/lower.ts";
import type { JsonSchema } from "../../src/schema/types.ts";
import { isObject } from "../../src/wire/field.ts";

/** A string with a value list has the format `enum`. */
export const enumFormat: Rewrite = {
  name: "enumFormat",
  apply: (node) => (Array.isArray(node["enum"]) ? { ...node, type: "string", format: "enum" } : node),
};

/** `anyOf` must stand alone (Vertex AI): its siblings move into each branch, unless the branch has its own. */
export const anyOfAlone: Rewrite = {
  name: "anyOfAlone",
  apply(node, { lose }) {
    const { anyOf: branches, ...beside } = node;
    if (!Array.isArray(branches) || Object.keys(beside).length === 0) return node;
    const meets = Object.keys(beside).filter(
      (keyword) =>
        keyword !== "description" &&
        keyword !== "title" &&
        branches.some((branch: JsonSchema) => Object.hasOwn(branch, keyword)),
    );
    if (meets.length > 0) lose(`${meets.join(", ")} next to anyOf and in a branch: the branch wins.`);
    return { anyOf: branches.map((branch: JsonSchema) => ({ ...beside, ...branch })) };
  },
};

/** An object below the root has properties, or leaves the keyword out: an empty list is rejected. */
export const filledObjects: Rewrite = {
  name: "filledObjects",
  apply(node, { isRoot }) {
    const { properties, ...rest } = node;
    const isEmpty = isObject(properties) && Object.keys(properties).length === 0;
    return isEmpty && !isRoot ? rest : node;
  },
};
