/**
 * The rules of this repository that a program can check. When one of these
 * fails, fix the code, or change the rule here and say why in the commit.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'

const root = path.resolve(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')

/** The tree as a reader gets it: what git tracks or would track; without git, all but what is made or installed. */
const tree = trackedFiles() ?? filesBelow('')

const sources = tree
  .filter((file) => /^(src|bin)\/.*\.(ts|js)$/.test(file))
  .map((file) => ({ file, text: read(file) }))
const production = sources.filter(({ file }) => !/\.test\.ts$|\/test-[\w-]+\.ts$/.test(file))

/**
 * What each room may import from the others. A pair that is absent is refused:
 * the edge cannot reach Chromium, not even by accident.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  'src/http': [],
  'src/edge': [
    'src/http',
    'src/pages',
    'src/accounts/domain-settings.ts',
    'src/gateway/guarded-connect.ts',
    'src/gateway/guarded-agents.ts',
  ],
  'src/pages': ['src/db', 'src/accounts/domain-settings.ts'],
  'src/sitemaps': ['src/pages'],
  'src/queue': [
    'src/db',
    'src/pages',
    'src/sitemaps',
    'src/edge/path-rules.ts',
    'src/render/outcome.ts',
    'src/render/record.ts',
    'src/render/page-text.ts',
    'src/lens/digests.ts',
    'src/accounts',
  ],
  'src/lens': ['src/db', 'src/pages', 'src/accounts/domain-settings.ts', 'src/render/outcome.ts'],
  'src/render': ['src/gateway/gateway.ts', 'src/gateway/headers.ts'],
  'src/gateway': ['src/config.ts'],
  'src/accounts': [
    'src/db',
    'src/pages',
    'src/gateway/origin-url.ts',
    'src/queue/cancel-jobs.ts',
    'src/queue/warm-control.ts',
  ],
  'src/events': ['src/db', 'src/accounts', 'src/pages/invalidation.ts', 'src/pages/visited.ts', 'src/queue'],
  'src/reach': [
    'src/db',
    'src/gateway/guarded-connect.ts',
    'src/gateway/address-guard.ts',
    'src/gateway/lookup.ts',
  ],
  'src/api': [
    'src/http',
    'src/reach',
    'src/mail',
    'src/events',
    'src/db',
    'src/accounts',
    'src/pages',
    'src/queue',
    'src/traffic',
    'src/lens',
    'src/certificates',
    'src/fleet',
    'src/gateway/origin-url.ts',
    'src/gateway/address-guard.ts',
  ],
  'src/certificates': [
    'src/db',
    'src/accounts/announce.ts',
    'src/pages/invalidation.ts',
    'src/gateway/guarded-connect.ts',
    'src/gateway/address-guard.ts',
    'src/gateway/lookup.ts',
  ],
  'src/db': [],
  'src/metrics': ['src/db'],
  'src/traffic': [
    'src/db',
    'src/accounts',
    'src/pages/path.ts',
    'src/pages/visited.ts',
    'src/edge/known-crawlers.ts',
  ],
  'src/fleet': ['src/db'],
}
/** Small files without a room: anybody may import them. */
const GROUND = [
  'src/address-range.ts',
  'src/client-address.ts',
  'src/clock.ts',
  'src/der.ts',
  'src/edge-target.ts',
  'src/errors.ts',
  'src/ids.ts',
  'src/log.ts',
  'src/make-dir.ts',
  'src/recent-map.ts',
  'src/system-user.ts',
  'src/xml-text.ts',
]

describe('repository rules', () => {
  it('looks at the files it claims to look at', () => {
    assert(production.some(({ file }) => file === 'src/edge/handler.ts'))
    assert(sources.some(({ file }) => file.endsWith('.test.ts')))
  })

  it('only config.ts reads the environment', () => {
    // The other one is run by npm, and asks which npm that is.
    assert.deepEqual(filesMatching(/process\.env\b/), ['bin/prepare.js', 'src/config.ts'])
  })

  it('only clock.ts asks for the time', () => {
    const timeless = /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(/
    // Scripts that run inside a page replace the page's own clock: there it is the subject.
    assert.deepEqual(
      filesMatching(timeless).filter((file) => !file.startsWith('src/render/in-page/')),
      ['src/clock.ts'],
    )
  })

  it('has no drawer for things without a home', () => {
    assert.deepEqual(
      tree.filter((file) => /(^|[/-])(utils?|helpers?|common|shared|misc)([/.-]|$)/.test(file)),
      [],
    )
  })

  it('re-exports nothing', () => {
    assert.deepEqual(filesMatching(/^export (\*|\{[^}]*\}|type \{[^}]*\}) from /m), [])
  })

  it('each room imports only what the table of boundaries allows', () => {
    const broken = production
      .filter(({ file }) => file.startsWith('src/'))
      .flatMap(({ file, text }) =>
        importsOf(file, text)
          .filter((target) => !mayImport(file, target))
          .map((target) => `${file} -> ${target}`),
      )
    assert.deepEqual(broken, [])
  })

  it('wiring happens in bin/: nothing in src/ imports from there', () => {
    assert.deepEqual(
      production.flatMap(({ file, text }) =>
        file.startsWith('src/') && importsOf(file, text).some((target) => target.startsWith('bin/'))
          ? [file]
          : [],
      ),
      [],
    )
  })

  it('no file of the source has grown past 400 lines', () => {
    assert.deepEqual(
      production.filter(({ text }) => text.split('\n').length > 400).map(({ file }) => file),
      [],
    )
  })

  it('nothing escapes the type checker', () => {
    assert.deepEqual(filesMatching(/\bas any\b|: any\b|@ts-(ignore|nocheck)|as unknown as/), [])
  })

  it('no test is skipped, left for later or run alone', () => {
    const tests = tree.filter((file) => file.endsWith('.test.ts') && file !== 'test/repo-rules.test.ts')
    const pattern = /\b(it|test|describe)\.(skip|todo|only)\b|\b(skip|todo|only): *true/
    assert.deepEqual(
      tests.filter((file) => pattern.test(read(file))),
      [],
    )
  })

  it('no lock file records a download address', () => {
    const locks = tree.filter((file) => path.basename(file) === 'package-lock.json')
    assert(locks.includes('package-lock.json'))
    // A workspace is a link to its folder.
    for (const lock of locks) assert.doesNotMatch(read(lock), /"resolved": "(?!dashboard")/, lock)
  })

  it('the manifest overrides versions only: npm 9, which Debian 12 has, reads no lock file where a package is replaced', () => {
    const { overrides } = JSON.parse(read('package.json')) as { overrides: Record<string, unknown> }
    assert.doesNotMatch(JSON.stringify(overrides), /"(npm|file|git):/)
  })

  it('every dependency is pinned to one version', () => {
    const manifests = tree.filter((file) => path.basename(file) === 'package.json')
    assert(manifests.includes('package.json') && manifests.includes('dashboard/package.json'))
    const ranges = manifests.flatMap((file) => {
      const manifest = JSON.parse(read(file)) as Record<string, Record<string, string> | undefined>
      return ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) =>
        Object.entries(manifest[kind] ?? {}).filter(
          ([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
        ),
      )
    })
    assert.deepEqual(ranges, [])
  })
})

describe('the documents', () => {
  it('cite only paths that exist', () => {
    const documents = tree.filter((file) =>
      /^(README|ARCHITECTURE|SECURITY|CHANGELOG)\.md$|^docs\/.*\.md$|^bench\/.*\.md$/.test(file),
    )
    assert(documents.includes('ARCHITECTURE.md') && documents.includes('README.md'))
    const missing = documents.flatMap((file) =>
      citedPaths(read(file))
        .filter((cited) => !existsSync(path.join(root, cited)))
        .map((cited) => `${file}: ${cited}`),
    )
    assert.deepEqual(missing, [])
  })

  it('tell the life of a crawler request in at most 10 files and 900 lines', () => {
    const text = read('ARCHITECTURE.md')
    const life = /## Life of one crawler request\n([\s\S]*?)\n## /.exec(text)?.[1] ?? ''
    const cited = [...new Set(citedPaths(life).filter((file) => /\.(ts|js|sql)$/.test(file)))]
    assert(
      cited.includes('src/edge/handler.ts') && cited.includes('src/render/renderer.ts'),
      'the path reaches the renderer',
    )
    assert(cited.length <= 10, `the path has ${cited.length} files`)
    const lines = cited.reduce((sum, file) => sum + read(file).split('\n').length - 1, 0)
    assert(lines <= 900, `the path has grown to ${lines} lines`)
  })

  it('the code map of ARCHITECTURE.md names every room', () => {
    const text = read('ARCHITECTURE.md')
    const rooms = new Set(
      production
        .filter(({ file }) => file.startsWith('src/'))
        .map(({ file }) => file.split('/')[1]!)
        .filter((name) => !name.includes('.')),
    )
    assert.deepEqual(
      [...rooms].filter((room) => !text.includes(`src/${room}/`)),
      [],
    )
  })
})

function trackedFiles(): string[] | null {
  const git = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  if (git.status !== 0) return null
  return git.stdout.split('\n').filter((file) => file !== '' && existsSync(path.join(root, file)))
}

function filesBelow(dir: string): string[] {
  const made = ['.git', '.prepaint', 'node_modules', 'dist']
  return readdirSync(path.join(root, dir), { withFileTypes: true }).flatMap((entry) => {
    if (made.includes(entry.name)) return []
    const file = path.posix.join(dir, entry.name)
    return entry.isDirectory() ? filesBelow(file) : [file]
  })
}

function filesMatching(pattern: RegExp): string[] {
  return production.filter(({ text }) => pattern.test(text)).map(({ file }) => file)
}

/** Paths relative to the root, of relative imports (static, dynamic and types). */
function importsOf(file: string, text: string): string[] {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g)].map(([, target]) =>
    path.posix.normalize(path.posix.join(path.posix.dirname(file), target!)),
  )
}

function mayImport(file: string, target: string): boolean {
  const room = /^src\/[\w-]+\//.exec(file)?.[0].slice(0, -1)
  if (room === undefined || GROUND.includes(target) || target.startsWith(`${room}/`)) return true
  return (MAY_IMPORT[room] ?? []).some((allowed) => target === allowed || target.startsWith(`${allowed}/`))
}

function citedPaths(markdown: string): string[] {
  return [...markdown.matchAll(/`((?:src|bin|test|bench|docs|examples|dashboard)\/[\w./-]+)`/g)].map(
    ([, cited]) => cited!,
  )
}
