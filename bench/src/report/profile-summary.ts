import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** V8's CPU profile, the part that is used. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  /** Microseconds since the sample before. */
  readonly timeDeltas: readonly number[];
}

/** Where time went: a name and its share of the time the process was not idle. */
export interface Share {
  readonly name: string;
  readonly share: number;
}

/** A profile in two views. */
export interface ProfileSummary {
  readonly busyMs: number;
  /** By package; what Node and V8 do is named for them. */
  readonly packages: readonly Share[];
  /** The functions with the most time of their own. */
  readonly functions: readonly Share[];
}

const MOST_FUNCTIONS = 25;
const IDLE = '(idle)';

/** Time of its own ("self time") by package and by function. */
export function summarizeProfile(profile: CpuProfile): ProfileSummary {
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  const packages = new Map<string, number>();
  const functions = new Map<string, number>();
  let busyUs = 0;
  profile.samples.forEach((id, index) => {
    const frame = frames.get(id);
    const us = profile.timeDeltas[index] ?? 0;
    if (frame === undefined || frame.functionName === IDLE) return;
    busyUs += us;
    const owner = packageOf(frame);
    add(packages, owner, us);
    add(functions, `${frame.functionName || '(anonymous)'} (${owner}${placeOf(frame)})`, us);
  });
  return {
    busyMs: busyUs / 1000,
    packages: sharesOf(packages, busyUs),
    functions: sharesOf(functions, busyUs).slice(0, MOST_FUNCTIONS),
  };
}

/** Writes `summary.md` beside the profiles of a folder: one chapter per profile. */
export function writeSummary(folder: string): string {
  const files = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'));
  const chapters = files.sort().map((name) => {
    const profile = JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as CpuProfile;
    return chapterOf(name, summarizeProfile(profile));
  });
  const file = path.join(folder, 'summary.md');
  writeFileSync(file, `# Where the time went\n\n${chapters.join('\n')}`);
  return file;
}

function chapterOf(name: string, { busyMs, packages, functions }: ProfileSummary): string {
  const table = (title: string, shares: readonly Share[]): string =>
    [
      `| ${title} | % |`,
      '| --- | --- |',
      ...shares.map((one) => `| ${one.name} | ${percent(one.share)} |`),
    ].join('\n');
  const shown = packages.filter(({ share }) => share >= 0.005);
  return `## ${name}\n\nBusy for ${Math.round(busyMs)} ms.\n\n${table('package', shown)}\n\n${table('function', functions)}\n`;
}

function percent(share: number): string {
  return (share * 100).toFixed(1);
}

function packageOf({ url, functionName }: CpuProfile['nodes'][number]['callFrame']): string {
  const ours = /\/(?:packages|apps|bench)\/([^/]+)\/|\/(bench)\/dist\//.exec(url);
  const installed = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url);
  if (installed?.[1] !== undefined) return installed[1];
  if (/\/bench\/dist\//.test(url)) return 'bench';
  if (ours?.[1] !== undefined) return `@a2a-cluster/${ours[1]}`;
  if (url.startsWith('node:')) return url.split('/')[0] ?? url;
  return url === '' ? (/^\(/.test(functionName) ? functionName : 'V8') : url;
}

function placeOf({ url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  return url === '' ? '' : ` ${path.basename(url)}:${lineNumber + 1}`;
}

function add(sums: Map<string, number>, name: string, us: number): void {
  sums.set(name, (sums.get(name) ?? 0) + us);
}

function sharesOf(sums: ReadonlyMap<string, number>, totalUs: number): Share[] {
  return [...sums].map(([name, us]) => ({ name, share: us / totalUs })).sort((a, b) => b.share - a.share);
}
