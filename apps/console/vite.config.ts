import { defineConfig } from 'vite';

/** The page is served below `/console` by every replica; nothing is loaded from anywhere else. */
export default defineConfig({
  base: '/console/',
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    // These know light-dark(); rewritten for older ones, the colours of a chart could not be read.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    assetsInlineLimit: 0,
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  // For work on the page: the API of a replica that runs on this machine.
  server: { proxy: { '/console/api': 'http://127.0.0.1:41241' } },
});
