import { mkdir, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'

const BLOCK_BYTES = 512

/**
 * Writes what a tar archive holds under `dir`: files, directories and links, as
 * far as the packaged browser's archives use the format (ustar, short names).
 * Anything else, and any name that would leave `dir`, is an error.
 */
export async function untar(archive: Buffer, dir: string): Promise<void> {
  for (let at = 0; at + BLOCK_BYTES <= archive.length; ) {
    const header = archive.subarray(at, at + BLOCK_BYTES)
    if (header.every((byte) => byte === 0)) return

    const prefix = text(header, 345, 155)
    const name = prefix === '' ? text(header, 0, 100) : `${prefix}/${text(header, 0, 100)}`
    const bytes = octal(header, 124, 12)
    const kind = text(header, 156, 1)
    const body = archive.subarray(at + BLOCK_BYTES, at + BLOCK_BYTES + bytes)
    if (body.length !== bytes) throw new Error(`tar: ${name} is cut short`)
    at += BLOCK_BYTES + Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES

    const target = path.resolve(dir, name)
    if (target !== dir && !target.startsWith(`${dir}${path.sep}`)) {
      throw new Error(`tar: ${name} lies outside`)
    }
    if (kind === '5') await mkdir(target, { recursive: true })
    else await mkdir(path.dirname(target), { recursive: true })
    if (kind === '0' || kind === '') {
      // Executable for its owner or not at all; the rest of the mode is ours to decide.
      await writeFile(target, body, { mode: (octal(header, 100, 8) & 0o100) === 0 ? 0o644 : 0o755 })
    } else if (kind === '2') {
      const to = text(header, 157, 100)
      if (path.isAbsolute(to) || to.split('/').includes('..')) throw new Error(`tar: ${name} links outside`)
      await symlink(to, target)
    } else if (kind !== '5') {
      throw new Error(`tar: ${name} is of kind "${kind}"`)
    }
  }
}

function text(header: Buffer, from: number, length: number): string {
  const field = header.subarray(from, from + length)
  const end = field.indexOf(0)
  return field.subarray(0, end === -1 ? length : end).toString('utf8')
}

function octal(header: Buffer, from: number, length: number): number {
  const value = Number.parseInt(text(header, from, length).trim() || '0', 8)
  if (!Number.isSafeInteger(value) || value < 0) throw new Error('tar: not an archive')
  return value
}
