import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, readlink, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, it } from 'node:test'

import { untar } from './packaged-browser.ts'

const dir = await mkdtemp(path.join(tmpdir(), 'prepaint-tar-'))
after(() => rm(dir, { recursive: true, force: true }))

type Entry = { name: string; body?: string; kind?: string; mode?: string; link?: string }

function tar(...entries: Entry[]): Buffer {
  const blocks = entries.flatMap(({ name, body = '', kind = '0', mode = '0000644', link = '' }) => {
    const header = Buffer.alloc(512)
    header.write(name, 0)
    header.write(mode, 100)
    header.write(Buffer.byteLength(body).toString(8).padStart(11, '0'), 124)
    header.write(kind, 156)
    header.write(link, 157)
    const padded = Buffer.alloc(Math.ceil(Buffer.byteLength(body) / 512) * 512)
    padded.write(body)
    return [header, padded]
  })
  return Buffer.concat([...blocks, Buffer.alloc(1024)])
}

it('files, directories and links', async () => {
  const archive = tar(
    { name: 'lib/', kind: '5' },
    { name: 'lib/run', body: 'x'.repeat(513), mode: '0000755' },
    { name: 'deep/er/file', body: 'text' },
    { name: 'lib/link', kind: '2', link: 'run' },
  )
  await untar(archive, dir)
  assert.equal((await stat(path.join(dir, 'lib/run'))).mode & 0o777, 0o755)
  assert.equal((await stat(path.join(dir, 'lib/run'))).size, 513)
  assert.equal(await readFile(path.join(dir, 'deep/er/file'), 'utf8'), 'text')
  assert.equal(await readlink(path.join(dir, 'lib/link')), 'run')
})

const refused: Record<string, [Buffer, RegExp]> = {
  'a name that leads outside': [tar({ name: '../out', body: 'x' }), /lies outside/],
  'an absolute name': [tar({ name: '/tmp/out', body: 'x' }), /lies outside/],
  'a link that leads outside': [tar({ name: 'link', kind: '2', link: '../../out' }), /links outside/],
  'a device': [tar({ name: 'null', kind: '3' }), /is of kind "3"/],
  'a file that is cut short': [tar({ name: 'file', body: 'x'.repeat(600) }).subarray(0, 700), /cut short/],
  'something else': [Buffer.alloc(2_048, 'z'), /not an archive|is of kind/],
}

for (const [name, [archive, error]] of Object.entries(refused)) {
  it(`${name} is refused`, async () => {
    const before = await readdir(dir)
    await assert.rejects(untar(archive, dir), error)
    assert.deepEqual(await readdir(dir), before)
  })
}
