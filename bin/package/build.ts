/** Run by npm before it packs: makes `dist/`, which the npm package and the container image contain. */
import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { rolldown } from 'rolldown'
import { buildShop } from '../../examples/shop/build.ts'
import { billOfMaterials, licenceTexts, readBundled } from './licences.ts'

const root = path.resolve(import.meta.dirname, '../..')
const dist = path.join(root, 'dist')
const dashboard = path.join(dist, 'dashboard/dist')

const run = (program: string, args: string[]) =>
  execFileSync(program, args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 })

rmSync(dist, { recursive: true, force: true })
await compile()
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

const bundled = path.join(dashboard, 'licences.json')
const bill = billOfMaterials(listed, readBundled(bundled))
writeFileSync(path.join(dist, 'sbom.cdx.json'), `${JSON.stringify(bill)}\n`)
writeFileSync(path.join(dist, 'LICENCES.txt'), licenceTexts(root, bill, readBundled(bundled)))
rmSync(bundled)

// What is there as gzip is left out: a third of the package.
for (const name of readdirSync(dashboard, { recursive: true, encoding: 'utf8' })) {
  if (name.endsWith('.gz')) rmSync(path.join(dashboard, name.slice(0, -3)))
}

/**
 * Compiles the command line, the programs and workers that it starts, and all that they import. Our own packages become
 * relative imports, because Node refuses TypeScript in `node_modules`; packages of npm stay imports. Each module stays
 * a file with its name in its folder, so that it finds the files beside it as the source does.
 */
async function compile(): Promise<void> {
  const bundle = await rolldown({
    cwd: root,
    platform: 'node',
    input: [
      'bin/prepaint.ts',
      'packages/engine/src/render/browser/unpack-browser.ts',
      'packages/pages/src/forms/convert.ts',
    ].map((file) => path.join(root, file)),
    external: (id) => !/^(\.|\/|@prepaint\/)/.test(id),
  })
  await bundle.write({
    dir: dist,
    format: 'esm',
    preserveModules: true,
    preserveModulesRoot: root,
    comments: false,
    // Stack traces name the source with `--enable-source-maps`. The source itself would double the package.
    sourcemap: true,
    sourcemapExcludeSources: true,
  })
  await bundle.close()
}

/** Folders, and the files that modules read beside them: SQL, style sheets, data, scripts that run inside a page. */
function isReadAtRuntime(file: string): boolean {
  return /(^|\/)[^.]+$|(?<!\/tsconfig)\.(sql|css|json)$|\/in-page\/[\w-]+\.js$/.test(
    path.relative(root, file),
  )
}
