import { defineConfig } from 'vitest/config';

/** Where the token server looks for the page. */
const STATIC = '../agent/voice_agent/token_server/static';

export default defineConfig({
  base: './',
  build: {
    outDir: STATIC,
    emptyOutDir: true,
    target: 'es2022',
    // The page's content security policy allows no data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.md' },
    chunkSizeWarningLimit: 800,
  },
  server: {
    // `npm run dev` serves the page with reload; tokens come from a running token server.
    proxy: { '/api': 'http://127.0.0.1:8080' },
  },
  test: { environment: 'happy-dom', include: ['tests/**/*.test.ts'] },
});
