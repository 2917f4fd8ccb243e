import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { hasPeer, howToGet, PEERS, PEERS_REQUIRED, type Peer } from './peers.ts'

describe('programs that tests are run against', () => {
  for (const peer of Object.keys(PEERS) as Peer[]) {
    it(`${peer} is there, or nobody asked for it`, (t) => {
      if (hasPeer(peer)) return
      t.diagnostic(howToGet(peer))
      assert(!PEERS_REQUIRED, howToGet(peer))
    })
  }
})
