import path from 'node:path'

import { findBrowser } from '@prepaint/engine/browser-binary'
import type { GivenBrowser } from './peers/service.ts'

/** Returns `executable`, else the browser that Prepaint finds, unpacked in `dir` if necessary. */
export async function givenBrowser(executable: string | undefined, dir: string): Promise<GivenBrowser> {
  const chromium = executable ?? process.env['PREPAINT_CHROMIUM'] ?? null
  const found = await findBrowser({ chromium, dataDir: path.join(dir, 'browser') })
  return {
    executable: found.executable,
    environment: {
      ...(found.libraryDir !== null && { LD_LIBRARY_PATH: found.libraryDir }),
      ...(found.fontsDir !== null && { FONTCONFIG_PATH: found.fontsDir }),
    },
  }
}
