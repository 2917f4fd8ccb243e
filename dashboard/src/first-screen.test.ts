import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'

// Reads the build that is served. `npm run build` makes it, and so does `npm ci`.

const dist = path.join(import.meta.dirname, '..', 'dist')
const MOST_BYTES = 156_000

/** Returns the bytes that a browser downloads. */
const size = (url: string) => {
  const file = path.join(dist, url)
  return statSync(existsSync(`${file}.br`) ? `${file}.br` : file).size
}

/** Returns a script and all that it imports before it runs. */
function withImports(url: string, known = new Set<string>()): Set<string> {
  if (known.has(url)) return known
  known.add(url)
  const text = readFileSync(path.join(dist, url), 'utf8')
  for (const [, target] of text.matchAll(/(?:from|import)\s*"(\.\/[\w.-]+\.js)"/g)) {
    withImports(path.posix.join(path.posix.dirname(url), target!), known)
  }
  return known
}

it('signing in and the list of domains need at most 156 kB of compressed script each', () => {
  assert(existsSync(path.join(dist, 'index.html')), 'the dashboard is not built: npm run build')
  const html = readFileSync(path.join(dist, 'index.html'), 'utf8')
  const entry = new Set<string>()
  for (const [, url] of html.matchAll(/(?:src|href)="(\/assets\/[^"]+\.js)"/g)) withImports(url!, entry)
  assert(entry.size > 0)
  const bytes = (urls: Set<string>) => [...urls].reduce((sum, url) => sum + size(url), 0)
  const screen = (name: string) => {
    const files = readdirSync(path.join(dist, 'assets')).filter((file) =>
      new RegExp(`^${name}-[\\w-]{8}\\.js$`).test(file),
    )
    assert.equal(files.length, 1, name)
    return bytes(withImports(`/assets/${files[0]}`, new Set(entry)))
  }
  const signIn = screen('sign-in')
  const domains = screen('sites')
  assert(Math.min(signIn, domains) > Math.max(50_000, bytes(entry)), 'nothing was counted')
  assert(signIn <= MOST_BYTES, `signing in needs ${signIn} bytes`)
  assert(domains <= MOST_BYTES, `the list of domains needs ${domains} bytes`)
})
