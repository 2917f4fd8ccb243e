// The "prepare" script of `npm ci`, for Node 18 and later: completes the installation and builds the dashboard.
import { spawnSync } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const modules = fileURLToPath(new URL('../node_modules', import.meta.url))
const node = path.join(modules, '.bin/node')
const brought = `../node-${process.platform}-${process.arch}/bin/node`

// npx runs this again when it first runs a command of the checkout, which `npm ci` has completed: a build would take
// a minute, in silence, and one that is interrupted leaves npx a broken folder.
if (process.env.npm_command === 'exec') process.exit(0)

linkNode()

// npm under Node 18 omits packages that need a newer Node: install again under the newer one.
const npm = process.env.npm_execpath
if (Number.parseInt(process.versions.node, 10) < 20 && existsSync(node) && npm !== undefined) {
  const rest = ['install', '--no-save', '--ignore-scripts', '--loglevel=error']
  spawnSync(node, ['--no-deprecation', npm, ...rest], { stdio: 'inherit' })
  linkNode()
}

// bin/package/build.ts has built what is packed.
if (process.env.npm_command === 'pack' || process.env.npm_command === 'publish') process.exit(0)

const [major, minor] = process.versions.node.split('.').map(Number)
const runsTypeScript = major > 22 || (major === 22 && minor >= 18)
if (!existsSync(path.join(modules, 'vite'))) {
  console.log('Prepaint: the dashboard was not built, as vite is not installed (--omit=dev).')
  console.log('Without development dependencies, a checkout has no Markdown and no cards either.')
} else if (!existsSync(node) && !runsTypeScript) {
  console.log('Prepaint: the dashboard was not built, as that takes Node 22.18 or newer; run npm run build.')
} else {
  const build = path.resolve(modules, '../dashboard/build.ts')
  const { status } = spawnSync(existsSync(node) ? node : process.execPath, [build], { stdio: 'inherit' })
  process.exit(status ?? 1)
}

/** npm 9 links it, and unlinks it together with the omitted package of another platform. */
function linkNode() {
  if (!existsSync(node) && existsSync(path.join(modules, '.bin', brought))) symlinkSync(brought, node)
}
