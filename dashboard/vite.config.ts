import path from 'node:path'
import {
  convertCssVariables,
  DEFAULT_THEME,
  defaultCssVariablesResolver,
  mergeMantineTheme,
} from '@mantine/core'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

import { theme } from './src/theme.ts'

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), themeVariables()],
  // For development: `npx vite dashboard`, beside a node on its usual port.
  server: { proxy: { '/api': 'http://127.0.0.1:3000', '/openapi.json': 'http://127.0.0.1:3000' } },
  build: {
    target: 'es2023',
    rolldownOptions: {
      input: ['index.html', 'api-reference.html'].map((page) => path.join(import.meta.dirname, page)),
    },
    // The content security policy allows no `data:` URLs and no inline scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The viewer of the API reference is one file of 1.5 MB, which only that page loads.
    chunkSizeWarningLimit: 1_600,
  },
})

/** Writes theme variables into the style sheet. Mantine's style element would violate the content security policy. */
function themeVariables(): Plugin {
  const name = 'virtual:theme.css'
  return {
    name: 'theme-variables',
    resolveId: (id) => (id === name ? `\0${name}` : null),
    load: (id) =>
      id === `\0${name}`
        ? convertCssVariables(defaultCssVariablesResolver(mergeMantineTheme(DEFAULT_THEME, theme)), ':root')
        : null,
  }
}
