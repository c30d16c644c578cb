/// <reference types="vitest/config" />
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { svelteTesting } from '@testing-library/svelte/vite';
import { defineConfig } from 'vite';

// The server of the dev proxy; the built page is served by `answerback serve` itself.
const server = process.env.ANSWERBACK_URL ?? 'http://127.0.0.1:7171';

export default defineConfig({
  plugins: [svelte(), svelteTesting()],
  build: {
    outDir: '../crates/answerback-web/dist',
    emptyOutDir: true,
    assetsDir: 'assets',
    target: 'es2022',
    // The page's CSP allows no inline script, no inline style and no data: script.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  worker: { format: 'es' },
  server: { proxy: { '/api': { target: server, changeOrigin: true } } },
  test: {
    environment: 'jsdom',
    include: ['src/**/*.test.ts'],
  },
});
