import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { build } from 'vite'
import inspect from 'vite-plugin-inspect'
import { until } from '../support/condition.ts'
import { type App, html } from './app.ts'

/**
 * The report that vite-plugin-inspect writes about a real build: the plugin copies its ready application (Vue 3, lazy
 * routes) and puts the data beside it. `dir`: an empty folder to build in.
 */
export async function buildViteInspect(dir: string): Promise<App> {
  const root = path.join(dir, 'site')
  const report = path.join(dir, 'report')
  await mkdir(root, { recursive: true })
  await writeFile(path.join(root, 'index.html'), '<link rel="stylesheet" href="/lanterns.css">')
  await writeFile(path.join(root, 'lanterns.css'), "@import './wicks.css';\n.lantern { color: goldenrod }\n")
  await writeFile(path.join(root, 'wicks.css'), '.wick { color: black }\n')
  await build({
    root,
    configFile: false,
    logLevel: 'silent',
    plugins: [inspect({ build: true, outputDir: report })],
  })
  // The plugin goes on writing after the build has ended; this file is its last.
  await until('the report is written', async () =>
    JSON.parse(await readFile(path.join(report, 'reports', 'metadata.json'), 'utf8')),
  )
  return {
    name: 'vite-inspect',
    framework: 'Vue 3',
    folders: { '/': report },
    answers: { '/': html(await readFile(path.join(report, 'index.html'), 'utf8')) },
    absent: ['/@vite/client', '/assets/fonts/dmsans-7c37c8a6.woff2', '/assets/fonts/dmmono-cd6ed524.woff2'],
    pages: [{ path: '/', texts: ['lanterns.css', 'build-html'] }],
  }
}
