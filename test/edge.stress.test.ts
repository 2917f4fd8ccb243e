import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import path from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'

const PROGRAM = path.resolve(import.meta.dirname, '../bench/stress.ts')
const CONNECTIONS = 2_000

type Phase = { name: string; rssBytes: number; connections: number; requests: number; failed: number }

describe(`the edge with ${CONNECTIONS} connections and more`, { timeout: 240_000 }, () => {
  it('answers everybody, and its memory is bounded', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, `${CONNECTIONS}`, '0.5'])
    const phases = JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as Phase[]
    assert.equal(phases.length, 7)
    for (const { name, requests, failed } of phases) {
      assert.equal(failed, 0, name)
      assert(requests > 0, name)
    }
    const grown = (at: number) => phases[at]!.rssBytes - phases[at - 1]!.rssBytes
    assert(phases[1]!.connections >= CONNECTIONS)
    // 24 KB each were measured; what has not been collected yet comes on top.
    assert(grown(1) < CONNECTIONS * 64 * 1024, `idle connections took ${grown(1)} bytes`)
    // 100 KB each.
    assert(grown(2) < (CONNECTIONS / 10) * 400 * 1024, `idle sessions took ${grown(2)} bytes`)
    const all = phases.at(-1)!.rssBytes - phases[0]!.rssBytes
    assert(all < 400 * 2 ** 20, `all of them took ${all} bytes`)
  })
})
