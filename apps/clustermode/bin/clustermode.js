#!/usr/bin/env node
import { existsSync } from 'node:fs';

const main = new URL('../dist/main.js', import.meta.url);
if (!existsSync(main)) {
  process.stderr.write('clustermode is not built yet: run `npm run build` at the root of the repository.\n');
  process.exit(78);
}
const { runCommand } = await import(main.href);
await runCommand(process.argv.slice(2));
