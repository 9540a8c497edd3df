// Removes from a folder made by `pnpm deploy` what no process of it can ever load: packages that only an optional
// peer asks for (Prisma's command line and what comes with it), the sources native modules were built from, and the
// parts of Prisma's client for other databases. Measured: 375 MB before, 97 MB after.
//   node deploy/prune.mjs FOLDER
import { existsSync, readFileSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';

const [folder] = process.argv.slice(2);
const store = folder === undefined ? undefined : path.resolve(folder, 'node_modules/.pnpm');
if (store === undefined || !existsSync(store)) {
  process.stderr.write(`usage: node deploy/prune.mjs FOLDER, which "pnpm deploy" has made\n`);
  process.exit(64);
}

const manifestOf = (place) => JSON.parse(readFileSync(path.join(place, 'package.json'), 'utf8'));

/** The names a package needs to run. Optional peers are none of them: whoever imports one lists it himself. */
function neededBy({ dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta = {} }) {
  const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta[name]?.optional);
  return [...Object.keys(dependencies ?? {}), ...Object.keys(optionalDependencies ?? {}), ...peers];
}

/** As Node looks for it, or undefined: optional dependencies of other platforms are not there. */
function find(name, from) {
  for (let at = from; at !== path.dirname(at); at = path.dirname(at)) {
    const place = path.join(at, 'node_modules', name);
    if (existsSync(path.join(place, 'package.json'))) return realpathSync(place);
  }
  return undefined;
}

const reached = new Set();
const open = [path.resolve(folder)];
for (let place = open.pop(); place !== undefined; place = open.pop()) {
  if (reached.has(place)) continue;
  reached.add(place);
  open.push(...neededBy(manifestOf(place)).flatMap((name) => find(name, place) ?? []));
}

const kept = new Set([...reached].map((place) => path.relative(store, place).split(path.sep)[0]));
let removed = 0;
for (const entry of readdirSync(store)) {
  // The links to all packages, and the manager's own notes.
  if (entry === 'node_modules' || entry.endsWith('.yaml') || kept.has(entry)) continue;
  rmSync(path.join(store, entry), { recursive: true });
  removed += 1;
}
for (const entry of [...kept].filter((name) => name.startsWith('better-sqlite3@'))) {
  const place = path.join(store, entry, 'node_modules/better-sqlite3');
  for (const name of ['deps', 'src', 'build/Release/obj', 'build/Release/.deps'])
    rmSync(path.join(place, name), { recursive: true, force: true });
}
// The query compilers of databases this project has no statements for, and source maps.
for (const entry of [...kept].filter((name) => name.startsWith('@prisma+client@'))) {
  const runtime = path.join(store, entry, 'node_modules/@prisma/client/runtime');
  for (const name of readdirSync(runtime))
    if (/\.map$|\.(sqlserver|cockroachdb)\./.test(name)) rmSync(path.join(runtime, name));
}
rmSync(path.join(store, 'node_modules'), { recursive: true, force: true });
process.stderr.write(`${removed} packages removed, ${kept.size} kept\n`);
