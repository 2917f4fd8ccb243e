/** What users run: the tarball of `npm pack`, installed into an empty prefix. Made once for each content of a checkout. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Program } from '../../test/support/command-line.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
/** Each version takes about 400 MB here. */
const CACHE = path.join(ROOT, 'node_modules/.cache/prepaint-bench')

/** The program of this checkout, with its uncommitted changes. */
export function packedProgram(): Program {
  const index = path.join(mkdtempSync(path.join(tmpdir(), 'prepaint-index-')), 'index')
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', env: { ...process.env, GIT_INDEX_FILE: index } })
  try {
    git('read-tree', 'HEAD')
    git('add', '--all')
    return installedProgram(git('write-tree').trim(), (target) => pack(ROOT, target))
  } finally {
    rmSync(path.dirname(index), { recursive: true })
  }
}

/** The program of another commit, built by what that commit says: `npm ci`, then `npm pack`, or else its `npm start`. */
export function programAt(ref: string): Program {
  const tree = execFileSync('git', ['rev-parse', '--verify', `${ref}^{tree}`], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  return installedProgram(tree.trim(), (target) => {
    const checkout = mkdtempSync(path.join(tmpdir(), 'prepaint-checkout-'))
    try {
      const archive = execFileSync('git', ['archive', ref], { cwd: ROOT, maxBuffer: 2 ** 30 })
      execFileSync('tar', ['--extract', '--directory', checkout], { input: archive })
      npm(checkout, 'ci', '--ignore-scripts')
      const { scripts } = readManifest(checkout)
      if (scripts['prepack'] === undefined) renameSync(checkout, path.join(target, 'checkout'))
      else pack(checkout, target)
    } finally {
      rmSync(checkout, { recursive: true, force: true })
    }
  })
}

/** `build` fills an empty directory. An unfinished one is not used later. */
function installedProgram(tree: string, build: (target: string) => void): Program {
  const place = path.join(CACHE, tree)
  if (!existsSync(place)) {
    const unfinished = `${place}.unfinished`
    rmSync(unfinished, { recursive: true, force: true })
    mkdirSync(unfinished, { recursive: true })
    build(unfinished)
    renameSync(unfinished, place)
  }
  const checkout = path.join(place, 'checkout')
  if (existsSync(checkout)) return startedProgram(checkout)
  const commands = path.join(place, 'node_modules/.bin')
  return { command: [path.join(commands, 'prepaint')], cwd: place, searchPath: commands }
}

function pack(checkout: string, target: string): void {
  const [packed] = JSON.parse(npm(checkout, 'pack', '--json', '--silent', '--pack-destination', target)) as {
    filename: string
  }[]
  // Also Node, PostgreSQL and Chromium, which are optional dependencies.
  npm(target, 'install', '--ignore-scripts', '--prefix', target, `./${packed!.filename}`)
}

/** What `npm start` runs, with `serve` as an argument like all other commands. */
function startedProgram(checkout: string): Program {
  const words = (readManifest(checkout).scripts['start'] ?? '').split(' ')
  const command = words.filter((word) => word !== 'exec' && word !== 'serve')
  return { command, cwd: checkout, searchPath: path.join(checkout, 'node_modules/.bin') }
}

function npm(cwd: string, ...args: string[]): string {
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline']
  return execFileSync('npm', [...args, ...quiet], {
    cwd,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

function readManifest(checkout: string): { scripts: Record<string, string> } {
  return JSON.parse(readFileSync(path.join(checkout, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
}
