// Lets a child process of a test run the sources as they are, like jest does: no build that could be stale.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';

const packages = new URL('../../../', import.meta.url);

export function resolve(specifier, context, next) {
  const [, name] = /^@a2a-cluster\/([a-z-]+)$/.exec(specifier) ?? [];
  if (name) return { url: new URL(`${name}/src/index.ts`, packages).href, shortCircuit: true };
  if (/^\.{1,2}\/.*\.js$/.test(specifier) && context.parentURL) {
    const source = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
    if (existsSync(fileURLToPath(source))) return { url: source.href, shortCircuit: true };
  }
  return next(specifier, context);
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const options = { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' } };
  const { code } = await transform(await readFile(fileURLToPath(url), 'utf8'), options);
  return { format: 'module', source: code, shortCircuit: true };
}
