import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type App, html, packageDir } from './app.ts'

const guide = readFileSync(path.join(packageDir('fastify'), 'docs/Guides/Getting-Started.md'), 'utf8')
const readme = readFileSync(path.join(packageDir('docute'), 'README.md'), 'utf8')

/** A documentation site without a build step: Markdown is fetched and turned into pages by Vue. */
export const docute: App = {
  name: 'docute',
  framework: 'Vue 2, documentation system',
  folders: { '/': packageDir('docute', 'dist') },
  answers: {
    '/': html(`<!doctype html>
<html>
  <head><meta charset="utf-8"><title>Handbook</title><link rel="stylesheet" href="/docute.css"></head>
  <body>
    <div id="docute"></div>
    <script src="/docute.js"></script>
    <script>
      new Docute({
        target: '#docute',
        title: 'Handbook',
        router: { mode: 'history' },
        sidebar: [{ title: 'Chapters', links: [{ title: 'First steps', link: '/guide' }] }]
      })
    </script>
  </body>
</html>
`),
    '/README.md': { type: 'text/markdown', body: readme, delayMs: 30 },
    '/guide.md': { type: 'text/markdown', body: guide, delayMs: 30 },
  },
  fallback: '/',
  pages: [
    { path: '/', texts: ['Effortless documentation, done right.'] },
    { path: '/guide', texts: ['Your first server', 'Loading order of your plugins'] },
  ],
}
