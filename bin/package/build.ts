/** Run by npm before it packs: makes `dist/`, which the npm package and the container image contain. */
import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import path from 'node:path'
import { type Plugin, type RolldownOutput, rolldown } from 'rolldown'
import { buildShop } from '../../examples/shop/build.ts'
import manifest from '../../package.json' with { type: 'json' }
import { billOfMaterials, bundledModules, licenceTexts, readBundled } from './licences.ts'

const root = path.resolve(import.meta.dirname, '../..')
const dist = path.join(root, 'dist')
/** Makes Markdown and cards. It is bundled with its packages of npm, which users then do not install (docs/decisions/0050-bundled-converter.md). */
const CONVERTER = 'packages/pages/src/forms/convert'
const dashboard = path.join(dist, 'dashboard/dist')

// Stack traces name the source with `--enable-source-maps`. The source itself would double the package.
const OUTPUT = {
  dir: dist,
  format: 'esm',
  comments: false,
  sourcemap: true,
  sourcemapExcludeSources: true,
} as const

const run = (program: string, args: string[]) =>
  execFileSync(program, args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 })

rmSync(dist, { recursive: true, force: true })
checkImports(await compile())
const converter = await bundleConverter()
checkImports(converter)
run(process.execPath, ['dashboard/build.ts', dashboard])
// Before vite sets NODE_ENV, which makes npm leave out what the dashboard is made of.
const listed = run('npm', ['sbom', '--sbom-format=cyclonedx'])
for (const name of readdirSync(path.join(root, 'packages'))) {
  cpSync(path.join(root, 'packages', name, 'src'), path.join(dist, 'packages', name, 'src'), {
    recursive: true,
    filter: isReadAtRuntime,
  })
}
cpSync(await buildShop(), path.join(dist, 'examples/shop/site'), { recursive: true })

const ofDashboard = path.join(dashboard, 'licences.json')
const bundled = [...readBundled(ofDashboard), ...bundledModules(modulesOf(converter))]
const bill = billOfMaterials(listed, bundled)
writeFileSync(path.join(dist, 'sbom.cdx.json'), `${JSON.stringify(bill)}\n`)
writeFileSync(path.join(dist, 'LICENCES.txt'), licenceTexts(root, bill, bundled))
rmSync(ofDashboard)

// What is there as gzip is left out: a third of the package.
for (const name of readdirSync(dashboard, { recursive: true, encoding: 'utf8' })) {
  if (name.endsWith('.gz')) rmSync(path.join(dashboard, name.slice(0, -3)))
}

/**
 * Compiles the command line, the programs that it starts, and all that they import. Our own packages become relative
 * imports, because Node refuses TypeScript in `node_modules`; packages of npm stay imports. Each module stays a file
 * with its name in its folder, so that it finds the files beside it as the source does.
 */
async function compile(): Promise<RolldownOutput> {
  const bundle = await rolldown({
    cwd: root,
    platform: 'node',
    input: [
      'bin/prepaint.ts',
      'bin/node/edge-process.ts',
      'packages/engine/src/render/browser/unpack-browser.ts',
    ].map((file) => path.join(root, file)),
    external: (id) => !/^(\.|\/|@prepaint\/)/.test(id),
    plugins: [converterElsewhere()],
  })
  const output = await bundle.write({ ...OUTPUT, preserveModules: true, preserveModulesRoot: root })
  await bundle.close()
  return output
}

/** Imports of the converter lead to its bundle. */
function converterElsewhere(): Plugin {
  return {
    name: 'converter-elsewhere',
    async resolveId(source, importer) {
      const resolved = await this.resolve(source, importer, { skipSelf: true })
      if (resolved?.id !== path.join(root, `${CONVERTER}.ts`)) return null
      // Modules keep their places: beside them the bundle is where the source is.
      return { id: path.join(root, `${CONVERTER}.js`), external: 'relative' }
    },
  }
}

/** One file, in the place of the module. What our own code imports and users install anyway stays an import. */
async function bundleConverter(): Promise<RolldownOutput> {
  const bundle = await rolldown({
    cwd: root,
    platform: 'node',
    input: { [CONVERTER]: path.join(root, `${CONVERTER}.ts`) },
    external: (id, importer) =>
      // A package of npm may need another version than we do.
      isBuiltin(id) || (isInstalled(id) && !importer?.includes('/node_modules/')),
  })
  // Threads report no errors of conversions, so a source map would have no use.
  const output = await bundle.write({ ...OUTPUT, minify: true, sourcemap: false })
  await bundle.close()
  return output
}

function isInstalled(id: string): boolean {
  const name = /^(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? ''
  return Object.hasOwn(manifest.dependencies, name)
}

/** Throws if the output imports a package that the manifest does not list for users. */
function checkImports({ output }: RolldownOutput): void {
  for (const chunk of output) {
    // Only a checkout builds the demo shop: the package has it built.
    if (chunk.type !== 'chunk' || chunk.fileName === 'examples/shop/build.js') continue
    for (const id of [...chunk.imports, ...chunk.dynamicImports]) {
      const isOwn = id.startsWith('.') || output.some(({ fileName }) => fileName === id)
      const isConverter = id === `${CONVERTER}.js`
      if (!isOwn && !isConverter && !isBuiltin(id) && !isInstalled(id))
        throw new Error(`${chunk.fileName} imports ${id}, which package.json does not list in "dependencies"`)
    }
  }
}

function modulesOf({ output }: RolldownOutput): string[] {
  return output.flatMap((chunk) => (chunk.type === 'chunk' ? Object.keys(chunk.modules) : []))
}

/** Folders, and the files that modules read beside them: SQL, style sheets, data, scripts that run inside a page. */
function isReadAtRuntime(file: string): boolean {
  return /(^|\/)[^.]+$|(?<!\/tsconfig)\.(sql|css|json)$|\/in-page\/[\w-]+\.js$/.test(
    path.relative(root, file),
  )
}
