import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'

const ROOT = import.meta.dirname
const BUILDS = path.join(ROOT, 'dist')
/** In the npm package, which has no sources of the shop. */
const BUILT = path.join(ROOT, 'site')
const INPUTS = ['index.html', 'public', 'src', 'build.ts', '../../package-lock.json']

/**
 * Builds the shop with Vite and returns the directory that holds it. A build
 * is named after its sources, so that one that is there is current, and made
 * aside and renamed, so that two processes at once cannot see half of one.
 * `onLongStep` is called before a build, not when there is nothing to do.
 */
export async function buildShop(onLongStep: (line: string) => void = () => {}): Promise<string> {
  if (existsSync(BUILT)) return BUILT
  const finished = path.join(BUILDS, fingerprint())
  if (existsSync(finished)) return finished

  onLongStep('building the demo shop (first time only) ...')
  const { build } = await import('vite')
  const { default: react } = await import('@vitejs/plugin-react')
  mkdirSync(BUILDS, { recursive: true })
  const aside = path.join(BUILDS, `unfinished-${process.pid}`)
  try {
    await build({
      root: ROOT,
      configFile: false,
      logLevel: 'error',
      mode: 'production',
      plugins: [react()],
      build: { outDir: aside, emptyOutDir: true },
    })
    rename(aside, finished)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
  removeBut(finished)
  return finished
}

function fingerprint(): string {
  const hash = createHash('sha256')
  for (const input of INPUTS) {
    for (const file of filesUnder(path.join(ROOT, input))) {
      hash
        .update(`${path.relative(ROOT, file)}\0`)
        .update(readFileSync(file))
        .update('\0')
    }
  }
  return hash.digest('hex').slice(0, 16)
}

function filesUnder(at: string): string[] {
  if (!existsSync(at)) return []
  const entries = readdirSync(path.dirname(at), { withFileTypes: true })
  if (entries.find((entry) => entry.name === path.basename(at))?.isFile()) return [at]
  return readdirSync(at, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort()
}

function rename(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    // Another process finished the same build first: theirs is as good.
    if (!existsSync(to)) throw error
  }
}

/** Builds of earlier sources go; what another process is just making stays. */
function removeBut(finished: string): void {
  for (const name of readdirSync(BUILDS)) {
    if (/^[0-9a-f]{16}$/.test(name) && name !== path.basename(finished)) {
      rmSync(path.join(BUILDS, name), { recursive: true, force: true })
    }
  }
}
