/** The bundler drops calls of a function that does nothing, and the texts with them. */
export function doc() {}
