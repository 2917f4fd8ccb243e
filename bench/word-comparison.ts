import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startEngine } from '@prepaint/engine'
import { findBrowser } from '@prepaint/engine/browser-binary'
import { silentLog } from '@prepaint/runtime/log.ts'
import ipaddr from 'ipaddr.js'
import { openCatalogue } from '../test/apps/catalogue.ts'
import { startGateway } from '../test/support/engine-parts.ts'
import { openApplications } from './applications.ts'
import { startOrdinaryBrowser } from './ordinary-browser.ts'

/** A renderer and an ordinary browser that may reach loopback. `sites`: those named, else all applications and test/render. */
export async function startWordComparison(named: string | undefined) {
  const dir = await mkdtemp(path.join(tmpdir(), 'prepaint-words-'))
  // As root, the browser runs as another user, who must be able to enter this directory.
  await chmod(dir, 0o711)
  const applications = async () =>
    [...(await openCatalogue(dir)), ...openApplications()].map(({ name }) => name)
  const sites = named?.split(',') ?? ['shop', ...(await applications()), 'corpus']
  const loopback = [{ cidr: ipaddr.parseCIDR('127.0.0.0/8'), port: null }] as const
  const renderer = await startEngine({
    dataDir: dir,
    identity: 'Prepaint/0.0.0-test',
    allowedPrivateOrigins: loopback,
  })
  const gateway = await startGateway({ allowed: loopback, log: silentLog() })
  const binary = await findBrowser({ chromium: null, dataDir: dir })
  const plain = await startOrdinaryBrowser(binary, gateway.spkiHash)
  return {
    sites,
    renderer,
    gateway,
    plain,
    async close() {
      await renderer.close()
      await plain.close()
      await gateway.close()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

export function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}]+/gu) ?? []
}

export function countsOf(words: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

const LISTED_WORDS = 25

/** Words that stand in `a` more often than in `b`. */
export function surplus(a: readonly string[], b: readonly string[]): string {
  const counts = countsOf(b)
  return [...countsOf(a)]
    .filter(([word, count]) => count > (counts.get(word) ?? 0))
    .map(([word]) => word)
    .slice(0, LISTED_WORDS)
    .join(' ')
}
