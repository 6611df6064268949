/**
 * The string that was made last of bytes which were looked at one by one, and how many of its first characters are plain:
 * neither quotes nor backslashes nor controls. Most pieces of arguments are parsed as soon as they are made, and those
 * characters need not be looked at again.
 */
export const lastMade = { text: "", plain: 0 };
