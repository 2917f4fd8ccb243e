/** Rules of this repository. When one fails, fix the code, or change the rule and say why in the commit. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'

const root = path.resolve(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')

const words = (text: string): string[] => text.trim().split(/\s+/).filter(Boolean)

const tree = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  ...{ cwd: root, encoding: 'utf8' },
})
  .split('\n')
  .filter((file) => file !== '' && existsSync(path.join(root, file)))

const sources = tree
  .filter((file) => /^(packages|bin)\/.*\.(ts|js)$/.test(file))
  .map((file) => ({ file, text: read(file) }))
const production = sources.filter(({ file }) => !/\.test\.ts$/.test(file))

/** What production files do not contain, but for those that are named. */
const PATTERNS: [rule: string, pattern: RegExp, allowed: string[]][] = [
  // The other one is run by npm, and asks which npm that is.
  ['only config.ts reads the environment', /process\.env\b/, ['bin/prepare.js', 'bin/settings/config.ts']],
  [
    'only clock.ts asks for the time',
    /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(/,
    // The package for sites depends on nothing of this one.
    ['packages/middleware/src/index.js', 'packages/runtime/src/clock.ts'],
  ],
  [
    'only the door of a package re-exports',
    /^export (\*|\{[^}]*\}|type \{[^}]*\}) from /m,
    [
      'packages/engine/src/browser.ts',
      'packages/engine/src/index.ts',
      'packages/outbound/src/client/index.ts',
      'packages/outbound/src/index.ts',
      'packages/outbound/src/sitemaps/index.ts',
    ],
  ],
  ['nothing escapes the type checker', /\bas any\b|: any\b|@ts-(ignore|nocheck)|as unknown as/, []],
  [
    // PostgreSQL and SMTP have clients of their own: `pg` in packages/postgres/, `nodemailer` in packages/service/src/mail/.
    'one way out: only packages/outbound opens connections',
    /\b(?:net|tls|http2)\.(?:connect|createConnection)\(|\bhttps?\.(?:request|get)\(|(?<![.\w])fetch\(|new (?:https?\.)?Agent\(/,
    [
      // The demo and the doctor ask their own node, on loopback, and the demo its own shop.
      'bin/cli/demo/origins.ts',
      'bin/cli/demo/steps.ts',
      'bin/cli/doctor/services.ts',
      // Runs in the owner's application, and asks only the Prepaint that its options name.
      'packages/middleware/src/index.js',
      'packages/outbound/src/ask-addresses.ts',
      'packages/outbound/src/guarded-connect.ts',
      // The object store is the operator's, at any address.
      'packages/pages/src/store/bodies/s3-client.ts',
      // The operator's CA may have a private address.
      'packages/service/src/certificates/acme/transport.ts',
    ],
  ],
]

assert(production.some(({ file }) => file === 'packages/edge/src/request/handler.ts'))
assert(sources.some(({ file }) => file.endsWith('.test.ts')))

const none = (found: readonly unknown[]) => assert.deepEqual(found, [])

type Manifest = {
  version: string
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

function readManifest(file: string): Manifest {
  return JSON.parse(read(file)) as Manifest
}

/** The packages of npm that files import: those that are loaded, and those of which they use only types. */
function npmImports(files: readonly { text: string }[]): { values: Set<string>; types: Set<string> } {
  const values = new Set<string>()
  const types = new Set<string>()
  const NAME = /'(?!\.|node:|@prepaint\/)((?:@[\w.-]+\/)?[\w.-]+)[^']*'/.source
  const statement = new RegExp(`^import (type )?(?:[^'";]*? from )?${NAME}`, 'gm')
  const call = new RegExp(`\\b(?:import|createRequire\\(import\\.meta\\.url\\)\\.resolve)\\(${NAME}\\)`, 'g')
  for (const { text } of files) {
    for (const [, type, name] of text.matchAll(statement)) (type === undefined ? values : types).add(name!)
    for (const [, name] of text.matchAll(call)) values.add(name!)
  }
  return { values, types }
}

/** Bundled with their npm packages, which users do not install: docs/decisions/0050-bundled-converter.md. */
const BUNDLED_NAMES = 'convert|card|main-content|markdown|page-tree'

function isBundled(file: string): boolean {
  return new RegExp(`^packages/pages/src/forms/(?:${BUNDLED_NAMES})\\.ts$`).test(file)
}

describe('repository rules', () => {
  for (const [rule, pattern, allowed] of PATTERNS) {
    it(rule, () => {
      // Scripts that run inside a page replace its clock and its requests: there they are the subject.
      const found = production.filter(
        ({ file, text }) => pattern.test(text) && !file.startsWith('packages/engine/src/render/in-page/'),
      )
      assert.deepEqual(
        found.map(({ file }) => file),
        allowed,
      )
    })
  }

  it('has no drawer for things without a home', () =>
    none(tree.filter((file) => /(^|[/-])(utils?|helpers?|common|shared|misc)([/.-]|$)/.test(file))))

  // A door is the list in `exports`. What it lists is what others import; a pattern would open the whole package.
  it('the door of each package lists files, no patterns', () => {
    const manifests = tree.filter((file) => /^packages\/[^/]+\/package\.json$/.test(file))
    assert.equal(manifests.length, 10)
    const open = manifests.filter((file) => {
      const { exports } = JSON.parse(read(file)) as { exports?: Record<string, string> }
      return exports === undefined || Object.keys(exports).some((entry) => entry.includes('*'))
    })
    none(open)
  })

  it('each package explains itself on a page, and refuses ways around the doors of others', () => {
    const packages = tree.flatMap((file) => /^packages\/[^/]+(?=\/package\.json$)/.exec(file)?.[0] ?? [])
    none(packages.filter((folder) => !tree.includes(`${folder}/tsconfig.json`)))
    none(packages.filter((folder) => !tree.includes(`${folder}/README.md`)))
  })

  it('no test is skipped, left for later or run alone', () => {
    const tests = tree.filter((file) => file.endsWith('.test.ts') && file !== 'test/repo-rules.test.ts')
    const pattern = /\b(it|test|describe)\.(skip|todo|only)\b|\b(skip|todo|only): *true/
    none(tests.filter((file) => pattern.test(read(file))))
  })

  // A file whose tests end while it awaits is over for the runner: it closes what the next ones need.
  it('test files open what they need before their first test: after it they neither await nor add hooks', () => {
    const late =
      /^(describe|it)\([\s\S]*^((?!describe\(|it\(|.*=>|.*function)\S.*\bawait\b|(before|after)(Each)?\()/m
    none(tree.filter((file) => file.endsWith('.test.ts') && late.test(read(file))))
  })

  it('tests that start Prepaint as a program, or drive the dashboard, are in the long suite, or in the one that wears them out', () => {
    const support = /support\/(command-line|node-process|fleet|installed-peer)\.ts'|\/open-dashboard\.ts'/
    const [long, short] = [true, false].map((isLong) =>
      tree.filter((file) => file.endsWith('.test.ts') && /\.(long|stress)\./.test(file) === isLong),
    )
    assert.ok(long!.some((file) => support.test(read(file))))
    none(short!.filter((file) => support.test(read(file))))
  })

  it('no lock file records a download address', () => {
    const locks = tree.filter((file) => path.basename(file) === 'package-lock.json')
    assert(locks.includes('package-lock.json'))
    for (const lock of locks)
      assert.doesNotMatch(read(lock), /"resolved": "(?!(?:dashboard|packages\/[a-z]+)")/, lock)
  })

  it('the manifest overrides versions only: npm 9, which Debian 12 has, reads no lock file where a package is replaced', () => {
    const { overrides } = JSON.parse(read('package.json')) as { overrides: Record<string, unknown> }
    assert.doesNotMatch(JSON.stringify(overrides), /"(npm|file|git):/)
  })

  // Their npm packages are development dependencies, because the packer bundles them. It throws if anything else that is
  // packed imports one: `checkImports` in bin/package/build.ts.
  it('only `convert.ts` leads to the modules that are bundled with their npm packages', () => {
    const inside = new RegExp(
      `from '(?:[^']*/)?forms/(?:${BUNDLED_NAMES})\\.ts'|from '\\./(?:${BUNDLED_NAMES})\\.ts'`,
    )
    const importers = production.filter(({ file, text }) => {
      const values = text.replace(/^import type [^;]*? from '[^']*'$/gm, '')
      return file.startsWith('packages/') && !isBundled(file) && inside.test(values)
    })
    none(importers.map(({ file }) => file))
    assert.equal(production.filter(({ file }) => isBundled(file)).length, 5)
    assert.match(read('bin/package/build.ts'), /^const CONVERTER = 'packages\/pages\/src\/forms\/convert'$/m)
  })

  // The root's manifest is the one that is published: what a package lacks there is missing where Prepaint is installed.
  it("each package's manifest lists the npm packages that its code imports, and the root's is their union", () => {
    const root = readManifest('package.json')
    const rootVersions = { ...root.devDependencies, ...root.dependencies }
    // What packs the package is not in it.
    const app = production.filter(({ file }) => /^bin\/(?!package\/)/.test(file))
    const union = new Set(npmImports(app).values)
    const problems: string[] = []
    for (const file of tree.filter((each) => /^packages\/[a-z]+\/package\.json$/.test(each))) {
      const folder = path.dirname(file)
      const own = production.filter((source) => source.file.startsWith(`${folder}/`))
      const { values, types } = npmImports(own.filter((source) => !isBundled(source.file)))
      const bundled = npmImports(own.filter((source) => isBundled(source.file)))
      const { version, dependencies = {}, devDependencies = {} } = readManifest(file)
      for (const name of bundled.types) types.add(name)
      for (const name of bundled.values) {
        if (!(name in dependencies) && !(name in devDependencies)) problems.push(`${folder} lacks ${name}`)
        if (name in dependencies && !values.has(name)) problems.push(`${folder}: ${name} is bundled`)
      }
      if (version !== root.version) problems.push(`${folder}: version ${version}`)
      const listed = Object.keys(dependencies).filter((name) => !name.startsWith('@prepaint/'))
      for (const name of values) if (!(name in dependencies)) problems.push(`${folder} lacks ${name}`)
      for (const name of types) {
        const isListed = [name, `@types/${name}`].some(
          (each) => each in dependencies || each in devDependencies,
        )
        if (!isListed) problems.push(`${folder} lacks ${name}`)
      }
      for (const name of listed) {
        union.add(name)
        if (!values.has(name) && !types.has(name)) problems.push(`${folder} does not import ${name}`)
      }
      for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
        const expected = name.startsWith('@prepaint/') ? root.version : rootVersions[name]
        if (version !== expected) problems.push(`${folder}: ${name} ${version}, at the root ${expected}`)
      }
    }
    none(problems)
    assert(union.has('zod') && union.has('lru-cache') && union.has('@sparticuz/chromium'))
    assert.deepEqual(Object.keys(root.dependencies ?? {}).sort(), [...union].sort())
  })

  it('every dependency is pinned to one version', () => {
    const manifests = tree.filter((file) => path.basename(file) === 'package.json')
    assert(manifests.includes('package.json') && manifests.includes('dashboard/package.json'))
    const ranges = manifests.flatMap((file) => {
      const manifest = JSON.parse(read(file)) as Record<string, Record<string, string> | undefined>
      return ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) =>
        Object.entries(manifest[kind] ?? {}).filter(
          // Several versions of a package have names of their own.
          ([, version]) => !/^(npm:[\w@/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
        ),
      )
    })
    none(ranges)
  })
})

/** Files that write tables of other owners, each with its reason. */
const WRITTEN_ELSEWHERE: Record<string, readonly string[]> = {
  // A purge supersedes the renders that run, and deletes what inspections found, in its transaction.
  'packages/pages/src/store/purge.ts': words('job inspection'),
  // One statement after each render, with its record.
  'packages/pages/src/queue/sql/keep-record.sql': words('last_render'),
  // Secrets are sealed again with a new master key, and deleted with a lost one.
  'packages/service/src/certificates/vault': words('channel origin_header second_factor'),
  // A form is stored with its body, whose reservation ends in the same statement.
  'packages/pages/src/forms/stored-form.ts': words('body_gone'),
  // Bodies of forms are moved and restored with those of pages.
  'packages/pages/src/store/bodies': words('page_form'),
  // One class notes when secrets were used.
  'packages/service/src/accounts/last-use.ts': words('site_token'),
  // Old counts are deleted with everything else that is kept for a time.
  'packages/service/src/accounts/retention.ts': words('render_count page_spelling'),
  // The sites of the demo are made as old as the visits that it makes up.
  'bin/cli/demo/earlier.ts': words('account domain event'),
  // What waited when the backup was made is not delivered again.
  'packages/postgres/src/backup/restore.ts': words('delivery'),
}

describe('SQL', () => {
  // `queue/tables.sql` belongs to `queue/`, and `quota.tables.sql` to `quota.ts`: what its name begins with owns its tables.
  const files = tree.filter((file) => /^packages\/.*tables\.sql$/.test(file))
  const owners = new Map(
    files.flatMap((file) => {
      const owner = file.replace(/[\w-]*tables\.sql$/, '')
      return [...read(file).matchAll(/^create (?:unlogged )?table (\w+)/gm)].map(([, table]) => [
        table!,
        owner,
      ])
    }),
  )
  const statements = tree
    .filter(
      (file) =>
        /^(packages|bin)\/.*\.(ts|sql)$/.test(file) &&
        !/\.test\.ts$|tables\.sql$|^packages\/postgres\/src\/migrations\//.test(file) &&
        // Its tables are SQLite's, in a file of the data directory.
        file !== 'packages/service/src/snapshot/snapshot-file.ts',
    )
    .map((file) => ({ file, text: read(file).replace(/\/\*.*?\*\/|(?:^|\s)(?:\/\/|--).*?$/gms, '') }))

  it('is created in `tables.sql` beside its owner, or replaced in `functions.sql`', () => {
    assert.equal(owners.get('job'), 'packages/pages/src/queue/')
    assert.equal(owners.get('render_count'), 'packages/pages/src/quota.')
    const created =
      /^ *create\s+(?!or replace)(?:unlogged |unique )?(table|function|view|trigger|index|sequence)\b/m
    assert.deepEqual(
      statements.filter(({ text }) => created.test(text)).map(({ file }) => file),
      // The record of what was applied.
      // The first makes the same tables with partitions.
      ['packages/postgres/src/domain-partitions.ts', 'packages/postgres/src/migrate.ts'],
    )
    const replaced = /^ *create or replace (function|view|trigger)\b/m
    const elsewhere = statements.filter(
      ({ file, text }) => replaced.test(text) && !file.endsWith('functions.sql'),
    )
    none(elsewhere.map(({ file }) => file))
  })

  it('keeps the migrations of released versions as they were released, to the last byte', () => {
    const kept = tree.filter((file) => /^test\/upgrade\/.*\/kept\.json$/.test(file))
    assert.ok(kept.includes('test/upgrade/0.2.0/kept.json'))
    for (const file of kept) {
      const { migrations } = JSON.parse(read(file)) as { migrations: { name: string; checksum: string }[] }
      assert.ok(migrations.length > 0)
      for (const { name, checksum } of migrations) {
        const text = read(`packages/postgres/src/migrations/${name}`)
        assert.equal(createHash('sha256').update(text).digest('hex'), checksum, name)
      }
    }
  })

  it('writes a table only where its owner is, but for the exceptions, each of which is needed', () => {
    const pattern = /\b(?:insert into|update|delete from)\s+(\w+)|\btable: '(\w+)'/g
    const unused = new Set(
      Object.entries(WRITTEN_ELSEWHERE).flatMap(([where, names]) =>
        names.map((table) => `${where}: ${table}`),
      ),
    )
    const broken: string[] = []
    for (const { file, text } of statements) {
      for (const found of text.matchAll(pattern)) {
        const table = found[1] ?? found[2]!
        const owner = owners.get(table)
        if (owner === undefined || file.startsWith(owner)) continue
        const where = Object.keys(WRITTEN_ELSEWHERE).find(
          (place) => file.startsWith(place) && WRITTEN_ELSEWHERE[place]!.includes(table),
        )
        if (where === undefined) broken.push(`${file}: ${table}`)
        unused.delete(`${where}: ${table}`)
      }
    }
    none(broken)
    none([...unused])
  })
})

describe('the documents', () => {
  it('docs/rendering.md explains every outcome and no other', () => {
    const found = (file: string, type: RegExp, name: RegExp) =>
      [...(type.exec(read(file))?.[1] ?? '').matchAll(name)].map(([, outcome]) => outcome!)
    const known = [
      ...found(
        'packages/contract/src/outcome/outcome.ts',
        /export type RenderOutcome =([\s\S]*?)\n\n/,
        /kind: '([a-z0-9-]+)'/g,
      ),
      ...found(
        'packages/contract/src/outcome/job.ts',
        /export type JobOutcome =([\s\S]*?)\n\n/,
        /\| '([a-z0-9-]+)'/g,
      ),
    ]
    assert(known.length > 15, 'the types are read')
    const lines = read('docs/rendering.md').matchAll(/^\| ((?:`[a-z0-9-]+`(?:, )?)+) \|/gm)
    const explained = [...lines].flatMap(([, names = '']) => names.replaceAll('`', '').split(', '))
    assert.deepEqual(explained.toSorted(), [...new Set(known)].toSorted())
  })

  it('cite only paths that exist', () => {
    const documents = tree.filter((file) =>
      /^(README|ARCHITECTURE|SECURITY|CHANGELOG)\.md$|^docs\/.*\.md$|^bench\/.*\.md$/.test(file),
    )
    assert(documents.includes('ARCHITECTURE.md') && documents.includes('README.md'))
    const CITED = /`((?:packages|src|bin|test|bench|docs|examples|dashboard|tools|deploy)\/[\w./-]+)`/g
    none(
      documents.flatMap((file) =>
        [...read(file).matchAll(CITED)].flatMap(([, cited]) =>
          existsSync(path.join(root, cited!)) ? [] : [`${file}: ${cited}`],
        ),
      ),
    )
  })

  it('the code map of ARCHITECTURE.md names every room', () => {
    const text = read('ARCHITECTURE.md')
    const rooms = production.flatMap(({ file }) => /^packages\/[\w-]+\//.exec(file)?.[0] ?? [])
    assert(rooms.length > 0)
    none(rooms.filter((room) => !text.includes(room)))
  })
})
