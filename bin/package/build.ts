/** Run by npm before it packs: makes `dist/`, which the npm package and the container image contain. */
import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { buildShop } from '../../examples/shop/build.ts'
import { billOfMaterials, licenceTexts, readBundled } from './licences.ts'

const root = path.resolve(import.meta.dirname, '../..')
const dist = path.join(root, 'dist')
const dashboard = path.join(dist, 'dashboard/dist')
const modules = path.join(root, 'node_modules')

const run = (program: string, args: string[]) =>
  execFileSync(program, args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 })

rmSync(dist, { recursive: true, force: true })
run(path.join(modules, '.bin/tsc'), ['-p', 'tsconfig.package.json'])
run(process.execPath, ['dashboard/build.ts', dashboard])
// Before vite sets NODE_ENV, which makes npm leave out what the dashboard is made of.
const listed = run('npm', ['sbom', '--sbom-format=cyclonedx'])

// Files that are read at runtime, found from the compiled place as from the source.
cpSync(path.join(root, 'src'), path.join(dist, 'src'), {
  recursive: true,
  filter: (file) =>
    /(^|\/)[^.]+$|(?<!\/tsconfig)\.(sql|css|json)$|\/in-page\/[\w-]+\.js$/.test(path.relative(root, file)),
})
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
