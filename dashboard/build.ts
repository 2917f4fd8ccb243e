/**
 * Builds the dashboard into `dist/`, with a compressed copy of each file, and prints the first screen's size.
 * `node build.ts DIR` builds into DIR (absolute), with `licences.json` of all packages in it.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

import { build } from 'vite'

const [, , elsewhere] = process.argv
const dist = elsewhere ?? path.join(import.meta.dirname, 'dist')

await build({
  configFile: path.join(import.meta.dirname, 'vite.config.ts'),
  logLevel: 'warn',
  build: {
    outDir: dist,
    emptyOutDir: true,
    license: elsewhere === undefined ? false : { fileName: 'licences.json' },
  },
})

if (elsewhere !== undefined) addLicencesOfViewer(path.join(elsewhere, 'licences.json'))

const sizes = new Map<string, number>()
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !/\.(html|js|css|svg)$/.test(entry.name)) continue
  const file = path.join(entry.parentPath, entry.name)
  const plain = readFileSync(file)
  const brotli = brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } })
  const gzip = gzipSync(plain, { level: 9 })
  if (brotli.length < plain.length) writeFileSync(`${file}.br`, brotli)
  if (gzip.length < plain.length) writeFileSync(`${file}.gz`, gzip)
  sizes.set(`/${path.relative(dist, file).split(path.sep).join('/')}`, Math.min(brotli.length, plain.length))
}

const html = readFileSync(path.join(dist, 'index.html'), 'utf8')
const first = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url!)
const kilobytes = (ending: string) =>
  (first.reduce((sum, url) => sum + (url.endsWith(ending) ? (sizes.get(url) ?? 0) : 0), 0) / 1024).toFixed(1)
process.stdout.write(
  `The dashboard is built: its first screen is ${kilobytes('.js')} KiB of script and ${kilobytes('.css')} KiB of style sheets (brotli).\n`,
)

/** The API reference is a bundle of others: its package names the licences of what is in it in a file of its own. */
function addLicencesOfViewer(file: string): void {
  const bundled = JSON.parse(readFileSync(file, 'utf8')) as { name: string; text?: string }[]
  const viewer = bundled.find(({ name }) => name === 'swagger-ui-dist')
  if (viewer === undefined) throw new Error('the viewer of the API reference is not in the build')
  const parts = import.meta.resolve('swagger-ui-dist/swagger-ui-es-bundle.js.LICENSE.txt')
  viewer.text = `${viewer.text ?? ''}\n\n${readFileSync(new URL(parts), 'utf8')}`
  writeFileSync(file, JSON.stringify(bundled))
}
