import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../../', import.meta.url);

/**
 * The built modules with these rewrites applied, by URL. A rewrite is `{ name, module, find, replace }`; `module`
 * counts from the root of the workspace.
 *
 * @throws Error that names the rewrite and the file, where `find` does not occur exactly once: a failpoint or a
 * mutation that silently no longer applies would prove nothing.
 */
export function applyRewrites(rewrites) {
  const modules = new Map();
  for (const { name, module, find, replace } of rewrites) {
    const url = new URL(module, ROOT).href;
    const known = modules.get(url) ?? { module, source: read(url, name), names: [] };
    const places = known.source.split(find);
    if (places.length !== 2)
      throw new Error(
        `rewrite \`${name}\` of ${fileURLToPath(url)}: its text occurs ${places.length - 1} times, not once:\n${find}`,
      );
    modules.set(url, { module, source: places.join(replace), names: [...known.names, name] });
  }
  return modules;
}

function read(url, name) {
  try {
    return readFileSync(fileURLToPath(url), 'utf8');
  } catch (error) {
    throw new Error(
      `rewrite \`${name}\`: ${fileURLToPath(url)} cannot be read; is it built? ${error.message}`,
      { cause: error },
    );
  }
}
