import { defineConfig } from 'vite';

/** The page is served below `/console` by every replica; nothing is loaded from anywhere else. */
export default defineConfig({
  base: '/console/',
  build: { outDir: 'dist', emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0 },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
});
