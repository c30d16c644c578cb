/// <reference types="vitest/config" />
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { svelteTesting } from '@testing-library/svelte/vite';
import { defineConfig } from 'vite';

// Target of the dev proxy; `answerback serve` serves the built page itself.
const server = process.env.ANSWERBACK_URL ?? 'http://127.0.0.1:7171';

export default defineConfig({
  plugins: [svelte(), svelteTesting()],
  build: {
    outDir: '../crates/answerback-web/dist',
    emptyOutDir: true,
    assetsDir: 'assets',
    target: 'es2022',
    // The page's CSP forbids inline scripts, inline styles and data: scripts.
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
