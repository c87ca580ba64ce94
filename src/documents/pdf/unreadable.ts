/** The PDF cannot be read as what it should be. The message says why, in a sentence for the organization. */
export class Unreadable extends Error {}
