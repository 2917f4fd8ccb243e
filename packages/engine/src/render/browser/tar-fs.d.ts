declare module 'tar-fs' {
  import type { Writable } from 'node:stream'

  type Options = { chown?: boolean; umask?: number; dmode?: number; fmode?: number }
  export function extract(dir: string, options: Options): Writable
}
