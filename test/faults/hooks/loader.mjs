/** Runs on the loader's own thread: gives the rewritten modules in place of the built ones, and tells which. */

let sources = new Map();
let port;

/** Called once, by `register`. */
export function initialize(data) {
  sources = data.sources;
  port = data.port;
}

/** The hook of node:module. */
export async function load(url, context, nextLoad) {
  const source = sources.get(url);
  if (source === undefined) return nextLoad(url, context);
  port.postMessage(url);
  return { format: 'module', source, shortCircuit: true };
}
