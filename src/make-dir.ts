import { mkdirSync, statSync } from 'node:fs'
import path from 'node:path'

/**
 * Makes a directory, and its parents where they are missing; one that is there
 * stays as it is. Not node's own `recursive`: in a place such as /proc, where
 * nothing can be made and "no such file" is the answer, it tries again for ever.
 */
export function makeDir(dir: string, mode: number): void {
  if (isDir(dir)) return
  const parent = path.dirname(dir)
  if (parent !== dir) makeDir(parent, mode)
  try {
    mkdirSync(dir, { mode })
  } catch (error) {
    // Another process of ours was quicker.
    if (!isDir(dir)) throw error
  }
}

/** What stands in the way of asking is left to mkdir, whose error names it. */
function isDir(dir: string): boolean {
  try {
    return statSync(dir).isDirectory()
  } catch {
    return false
  }
}
