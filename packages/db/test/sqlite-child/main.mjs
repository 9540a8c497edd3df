// node main.mjs <job> <JSON of its argument>: runs one job of jobs.ts, writes what it answers as a line of JSON.
import { register } from 'node:module';

register('./hooks.mjs', import.meta.url);
const { jobs } = await import('./jobs.ts');
const [, , name, argument] = process.argv;
const answer = await jobs[name](JSON.parse(argument));
process.stdout.write(`${JSON.stringify(answer)}\n`);
