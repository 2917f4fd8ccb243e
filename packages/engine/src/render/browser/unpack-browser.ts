/// <reference path="./tar-fs.d.ts" />
/** A program: unpacks the archives of @sparticuz/chromium. Arguments: their directory, where to, and where that will be moved. */
import { createReadStream, createWriteStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress } from 'node:zlib'
import { extract } from 'tar-fs'

const [archives = '', into = '', finalDir = ''] = process.argv.slice(2)

const archive = (name: string) =>
  pipeline(
    createReadStream(path.join(archives, `${name}.tar.br`)),
    createBrotliDecompress(),
    extract(into, { chown: false, umask: 0o022, dmode: 0o755, fmode: 0o644 }),
  )

await Promise.all([
  pipeline(
    createReadStream(path.join(archives, 'chromium.br'), { highWaterMark: 4 * 1024 * 1024 }),
    createBrotliDecompress({ chunkSize: 2 * 1024 * 1024 }),
    createWriteStream(path.join(into, 'chromium'), { mode: 0o755 }),
  ),
  archive('al2023'),
  archive('swiftshader'),
  archive('fonts'),
])
await writeFile(
  path.join(into, 'fonts.conf'),
  `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${path.join(finalDir, 'fonts')}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`,
)
