/** Every word with which a render can end is explained to owners of sites. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'

const read = (file: string) => readFileSync(path.resolve(import.meta.dirname, '..', file), 'utf8')

it('docs/rendering.md explains every outcome and no other', () => {
  const ends = /export type RenderOutcome =([\s\S]*?)\n\n/.exec(read('src/render/outcome.ts'))?.[1] ?? ''
  const ofJobs = /export type JobOutcome =([\s\S]*?)\n\n/.exec(read('src/queue/jobs/job.ts'))?.[1] ?? ''
  const known = [
    ...[...ends.matchAll(/kind: '([a-z0-9-]+)'/g)].map(([, kind]) => kind),
    ...[...ofJobs.matchAll(/\| '([a-z0-9-]+)'/g)].map(([, outcome]) => outcome),
  ]
  assert(known.length > 15, 'the types are read')
  const explained = [...read('docs/rendering.md').matchAll(/^\| ((?:`[a-z0-9-]+`(?:, )?)+) \|/gm)].flatMap(
    ([, names = '']) => names.replaceAll('`', '').split(', '),
  )
  assert.deepEqual(explained.toSorted(), [...new Set(known)].toSorted())
})
