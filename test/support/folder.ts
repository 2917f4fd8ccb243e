import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after } from 'node:test'

/** An empty folder, for all tests of a file. */
export function openFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'prepaint-test-'))
  after(() => rmSync(folder, { recursive: true }))
  return folder
}
