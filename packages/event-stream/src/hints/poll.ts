import type { HintMode } from './hint-mode.js';

/** No hints: the dispatcher's interval is all. Default 250 ms. */
export function createPollMode(options: { readonly pollIntervalMs: number | undefined }): HintMode {
  return {
    mode: 'poll',
    listening: false,
    pollIntervalMs: options.pollIntervalMs ?? 250,
    start: async () => {},
    close: async () => {},
    watching: () => {},
    send: () => {},
  };
}
