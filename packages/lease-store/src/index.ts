export type { BeatReporter } from './beat-report.js';
export * from './clock-watch.js';
export * from './create-clock-watch.js';
export * from './create-heartbeat.js';
export * from './heartbeat.js';
export * from './options.js';
