import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** The parts of CycloneDX that npm writes and that are read here. */
type Component = {
  'bom-ref': string
  name: string
  version: string
  purl: string
  scope?: string
  externalReferences?: { type: string }[]
  properties?: { name: string; value: string }[]
}
export type Bill = {
  metadata: { component: Component }
  components: Component[]
  dependencies: { ref: string; dependsOn?: string[] }[]
}
type Lock = { packages: Record<string, { version?: string }> }
/** A package that is compiled in. Vite writes these for the dashboard. */
type Bundled = { name: string; version: string; identifier?: string; text?: string }

/** Takes from npm's list of all installed packages those that a node loads, and those that are compiled in. */
export function billOfMaterials(listed: string, compiledIn: readonly Bundled[]): Bill {
  const bill = JSON.parse(listed) as Bill
  const bundled = new Set(compiledIn.map(({ name, version }) => `${name}@${version}`))
  const components = bill.components.map(tidied).filter((component) => {
    if (isOurs(component)) return false
    const isDevelopment = propertyOf(component, 'cdx:npm:package:development') === 'true'
    return !isDevelopment || bundled.has(`${component.name}@${component.version}`)
  })
  const refs = new Set([bill.metadata.component, ...components].map((component) => component['bom-ref']))
  return {
    ...bill,
    metadata: { ...bill.metadata, component: tidied(bill.metadata.component) },
    components,
    dependencies: bill.dependencies
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) })),
  }
}

/** Each licence once, under the names of the packages that have it. Node and PostgreSQL bring their own. */
export function licenceTexts(root: string, { components }: Bill, bundled: readonly Bundled[]): string {
  const byText = new Map<string, string[]>()
  const add = (text: string, name: string) => byText.set(text, [...new Set(byText.get(text)).add(name)])
  for (const { name, version, identifier, text } of bundled) {
    add(text ?? `Licence: ${identifier ?? 'not named'}`, `${name} ${version}`)
  }
  const { packages } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as Lock
  for (const { name, version, scope } of components) {
    if (scope === 'optional') continue
    if (bundled.some((each) => each.name === name && each.version === version)) continue
    const at = Object.keys(packages).find(
      (dir) => dir.endsWith(`node_modules/${name}`) && packages[dir]?.version === version,
    )
    if (at !== undefined) add(textIn(path.join(root, at)), `${name} ${version}`)
  }
  const parts = [...byText].map(([text, names]) => `${names.sort().join(', ')}\n\n${text}\n`)
  return `Prepaint contains these packages, or is installed with them. Node and PostgreSQL carry their licences in their own packages.\n\n${parts.sort().join(`\n${'-'.repeat(78)}\n\n`)}`
}

export function readBundled(file: string): Bundled[] {
  return JSON.parse(readFileSync(file, 'utf8')) as Bundled[]
}

/** The packages of npm that the modules of a bundle are from. */
export function bundledModules(files: readonly string[]): Bundled[] {
  const folders = files.flatMap((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? [])
  return [...new Set(folders)].sort().map((folder) => {
    const manifest = readFileSync(path.join(folder, 'package.json'), 'utf8')
    const { name, version } = JSON.parse(manifest) as { name: string; version: string }
    return { name, version, text: textIn(folder) }
  })
}

/** The workspaces are compiled into the package: they are no third parties. */
function isOurs({ name }: Component): boolean {
  return name === 'prepaint-dashboard' || name.startsWith('@prepaint/')
}

function propertyOf({ properties = [] }: Component, wanted: string): string | null {
  return properties.find(({ name }) => name === wanted)?.value ?? null
}

/** npm names packages by their folder; and downloads would name the registry of the machine that packed. */
function tidied(component: Component): Component {
  const { externalReferences = [], purl } = component
  return {
    ...component,
    name: decodeURIComponent(/^pkg:npm\/(.+)@[^@]+$/.exec(purl)?.[1] ?? component.name),
    externalReferences: externalReferences.filter(({ type }) => type !== 'distribution'),
  }
}

function textIn(dir: string): string {
  const names = existsSync(dir) ? readdirSync(dir) : []
  const file = names.find((name) => /^(licen[cs]e|copying)/i.test(name))
  if (file !== undefined) return readFileSync(path.join(dir, file), 'utf8').trim()
  const manifest = path.join(dir, 'package.json')
  if (!existsSync(manifest)) return 'Not installed on the machine that packed; see the package itself.'
  const { license } = JSON.parse(readFileSync(manifest, 'utf8')) as { license?: string }
  return `Licence: ${license ?? 'not named'}`
}
